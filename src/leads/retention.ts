/** The kinds of data that can be kept for a time only. None of them takes a lead's id along. */
export const RETAINED = ['leads', 'versions', 'attempts', 'rejected_leads'] as const;

/** A name of `RETAINED`; under it `retention` in the configuration says how long. */
export type RetainedKind = (typeof RETAINED)[number];

/** How long each kind is kept, in ms; absent: for ever. */
export type Retention = Readonly<Partial<Record<RetainedKind, number | undefined>>>;
