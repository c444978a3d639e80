/** Conditions of alerts. The names are those of the configuration's `alerts.when`. */
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

/** A condition. Its name, with `-` for `_`, is an anchor of the operating manual: see `runbookOf`. */
export type Condition = (typeof CONDITIONS)[number];

/** Minimum duration or limit of each condition, in ms; undefined if it is switched off. */
export type Limits = Readonly<Record<Condition, number | undefined>>;

/** Severity of each condition: `critical` if leads are not seen or not delivered while it lasts, otherwise `warning`. */
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

/** Returns the section of the operating manual about a condition, as a path in the project. */
export function runbookOf(condition: Condition): string {
  return `docs/operating.md#${condition.replaceAll('_', '-')}`;
}
