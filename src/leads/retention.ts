/** The kinds of data that `retention` can limit. It never removes the id of a lead. */
export const RETAINED = ['leads', 'versions', 'attempts', 'rejected_leads'] as const;

/** A kind of data, and the option of that name under `retention` in the configuration. */
export type RetainedKind = (typeof RETAINED)[number];

/** Maximum age of each kind of data, in ms. A missing kind is kept for ever. */
export type Retention = Readonly<Partial<Record<RetainedKind, number | undefined>>>;
