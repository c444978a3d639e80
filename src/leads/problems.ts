/** How bad a problem is. */
export type Severity = 'critical' | 'warning';

/** A kind of problem. */
interface ProblemKind {
  /**
   * `critical` if, while the problem lasts, leads are not polled, not delivered or not backed up; otherwise `warning`. A sink that an operator may
   * have stopped on purpose is a `warning`.
   */
  readonly severity: Severity;
  readonly means: string;
  /** Whether `alerts.when` has a condition of this name. */
  readonly alert: boolean;
  /** Whether `status`, the overview and the API report it. */
  readonly status: boolean;
  /** Anchor of the heading in the operating manual. */
  readonly section: string;
}

/**
 * Everything that leadsync reports as a problem, by code. Alerts, `status`, the overview, the API and docs/problems.md take the code,
 * severity and section from here.
 */
export const PROBLEMS = {
  not_running: {
    severity: 'critical',
    means: 'No leadsync is running on the data directory.',
    alert: false,
    status: true,
    section: 'it-does-not-start',
  },
  not_ready: {
    severity: 'critical',
    means: 'leadsync is running, but something that it needs does not work.',
    alert: false,
    status: true,
    section: 'the-first-minute',
  },
  ledger_fails: {
    severity: 'critical',
    means: 'The ledger cannot be read or written.',
    alert: true,
    status: false,
    section: 'ledger-fails',
  },
  disk_low: {
    severity: 'warning',
    means: 'The disk of the data directory has little free space.',
    alert: true,
    status: true,
    section: 'disk-low',
  },
  ledger_restored: {
    severity: 'warning',
    means: 'The ledger is a copy, or was restored from a backup.',
    alert: false,
    status: true,
    section: 'back-up-and-restore',
  },
  config_stale: {
    severity: 'warning',
    means:
      'The configuration file is not valid or could not be applied, and an earlier configuration stays in force.',
    alert: true,
    status: true,
    section: 'config-stale',
  },
  duty_free: {
    severity: 'critical',
    means:
      'No process does a part of the work, such as the polls of a source. Only with a ledger in PostgreSQL.',
    alert: true,
    status: true,
    section: 'duty-free',
  },
  process_missing: {
    severity: 'warning',
    means: 'A process was killed, is frozen or cannot reach the ledger. Only with a ledger in PostgreSQL.',
    alert: true,
    status: true,
    section: 'process-missing',
  },
  config_differs: {
    severity: 'warning',
    means: 'The machines have different configurations. Only with a ledger in PostgreSQL.',
    alert: true,
    status: true,
    section: 'config-differs',
  },
  clock_differs: {
    severity: 'warning',
    means:
      "The clock of a machine is far from that of the ledger's server. Only with a ledger in PostgreSQL.",
    alert: true,
    status: true,
    section: 'clock-differs',
  },
  carrier_down: {
    severity: 'critical',
    means: 'Redis does not work, so leadsync records leads but does not deliver them.',
    alert: true,
    status: false,
    section: 'carrier-down',
  },
  no_poll: {
    severity: 'critical',
    means: 'No poll of a source has succeeded for a long time.',
    alert: true,
    status: false,
    section: 'no-poll',
  },
  never_polled: {
    severity: 'warning',
    means: 'A source has never been polled.',
    alert: false,
    status: true,
    section: 'no-poll',
  },
  poll_failed: {
    severity: 'critical',
    means: 'The last poll of a source failed; leadsync retries it.',
    alert: false,
    status: true,
    section: 'no-poll',
  },
  poll_late: {
    severity: 'critical',
    means: 'A source was not polled when its schedule required it.',
    alert: false,
    status: true,
    section: 'no-poll',
  },
  source_refused: {
    severity: 'critical',
    means:
      'Polls of a source will fail until an operator acts, usually because its credentials are not accepted.',
    alert: true,
    status: true,
    section: 'source-refused',
  },
  source_silent: {
    severity: 'warning',
    means: 'Polls work, but a source has had no new lead for an improbably long time.',
    alert: true,
    status: true,
    section: 'source-silent',
  },
  source_removed: {
    severity: 'warning',
    means: 'A source in the ledger is no longer in the configuration.',
    alert: false,
    status: true,
    section: 'everyday-work',
  },
  listing_shrunk: {
    severity: 'warning',
    means: 'A source lists far fewer leads than it did in the last week.',
    alert: true,
    status: true,
    section: 'listing-shrunk',
  },
  leads_rejected: {
    severity: 'warning',
    means: "Leads in the last complete listing do not match the service's API description.",
    alert: true,
    status: true,
    section: 'leads-rejected',
  },
  sink_held: {
    severity: 'critical',
    means: 'A sink is held, because its destination does not work.',
    alert: true,
    status: true,
    section: 'sink-held',
  },
  sink_paused: {
    severity: 'warning',
    means: 'A sink is paused.',
    alert: true,
    status: true,
    section: 'sink-paused',
  },
  sink_new: {
    severity: 'warning',
    means: 'leadsync has not been started since a sink was added.',
    alert: false,
    status: true,
    section: 'add-change-rename-remove-a-sink',
  },
  sink_removed: {
    severity: 'warning',
    means: 'A sink with pending deliveries is no longer in the configuration.',
    alert: false,
    status: true,
    section: 'add-change-rename-remove-a-sink',
  },
  sink_disabled: {
    severity: 'warning',
    means: 'A sink with pending deliveries is disabled in the configuration.',
    alert: false,
    status: true,
    section: 'add-change-rename-remove-a-sink',
  },
  deliveries_dead: {
    severity: 'warning',
    means: 'Deliveries are dead.',
    alert: true,
    status: true,
    section: 'deliveries-dead',
  },
  leads_retried: {
    severity: 'warning',
    means: 'Deliveries to a sink failed and wait for a retry.',
    alert: false,
    status: true,
    section: 'a-lead-is-missing',
  },
  leads_stuck: {
    severity: 'critical',
    means: 'Deliveries to a sink are due, but leadsync is not attempting them.',
    alert: false,
    status: true,
    section: 'a-lead-is-missing',
  },
  backlog_old: {
    severity: 'warning',
    means: 'The oldest pending delivery of a sink is old, although the sink is neither held nor paused.',
    alert: true,
    status: true,
    section: 'backlog-old',
  },
  slow_to_lead: {
    severity: 'warning',
    means: 'New leads take too long to be delivered to a sink.',
    alert: true,
    status: true,
    section: 'slow-to-lead',
  },
  export_fails: {
    severity: 'warning',
    means: 'A scheduled export fails.',
    alert: true,
    status: true,
    section: 'export-fails',
  },
  backup_fails: {
    severity: 'critical',
    means: 'A scheduled backup fails or is overdue.',
    alert: true,
    status: true,
    section: 'backup-fails',
  },
} as const satisfies Readonly<Record<string, ProblemKind>>;

/** Code of a problem. */
export type ProblemCode = keyof typeof PROBLEMS;
/** Code of a problem that alerts report. */
export type AlertCode = CodeWith<'alert'>;
/** Code of a problem that `status`, the overview and the API report. */
export type StatusCode = CodeWith<'status'>;

type CodeWith<Reporter extends 'alert' | 'status'> = {
  [Code in ProblemCode]: (typeof PROBLEMS)[Code][Reporter] extends true ? Code : never;
}[ProblemCode];

/** Every code, in the order of docs/problems.md. */
export const PROBLEM_CODES = Object.keys(PROBLEMS) as ProblemCode[];

/** Returns the address of the page about a problem; undefined if the address of the pages is unknown. */
export function runbookUrlOf(code: ProblemCode, publicUrl: string | undefined): string | undefined {
  return publicUrl && `${publicUrl}/runbook/${PROBLEMS[code].section}`;
}

/** Returns the path, in the project, of the operating manual's section about a problem. */
export function runbookOf(code: ProblemCode): string {
  return `docs/operating.md#${PROBLEMS[code].section}`;
}
