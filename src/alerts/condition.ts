/** What can be wrong so that somebody should hear of it. The names are those of the configuration's `alerts.when`. */
export const CONDITIONS = [
  'no_poll',
  'source_refused',
  'source_silent',
  'listing_shrunk',
  'sink_held',
  'sink_paused',
  'deliveries_dead',
  'backlog_old',
  'slow_to_lead',
  'config_stale',
  'carrier_down',
  'ledger_fails',
  'export_fails',
] as const;

/** A name of `CONDITIONS`. With `-` for `_` it is an anchor of the operating manual: see `runbookOf`. */
export type Condition = (typeof CONDITIONS)[number];

/** How long each condition has to last, or what its limit is, in ms; undefined: it is switched off. */
export type Limits = Readonly<Record<Condition, number | undefined>>;

/** Whether leads are not seen or not delivered while a condition lasts, or somebody should only look in time. */
export const SEVERITY: Readonly<Record<Condition, 'critical' | 'warning'>> = {
  no_poll: 'critical',
  source_refused: 'critical',
  source_silent: 'warning',
  listing_shrunk: 'warning',
  sink_held: 'critical',
  sink_paused: 'warning',
  deliveries_dead: 'critical',
  backlog_old: 'warning',
  slow_to_lead: 'warning',
  config_stale: 'warning',
  carrier_down: 'critical',
  ledger_fails: 'critical',
  export_fails: 'warning',
};

/** Where the operating manual says what a condition means and what to do: a path in the project, no outside address. */
export function runbookOf(condition: Condition): string {
  return `docs/operating.md#${condition.replaceAll('_', '-')}`;
}
