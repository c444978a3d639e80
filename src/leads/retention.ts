/** The kinds of data whose age `retention` can limit. The ids of leads are never removed. */
export const RETAINED = ['leads', 'versions', 'attempts', 'rejected_leads'] as const;

/** A kind of data, named like its option under `retention` in the configuration. */
export type RetainedKind = (typeof RETAINED)[number];

/** Maximum age of each kind of data, in ms. Data of a kind without a maximum is kept for ever. */
export type Retention = Readonly<Partial<Record<RetainedKind, number | undefined>>>;
