import type { LeadEvent } from '../../leads/delivery.ts';

/** A sink as the ledger needs to know it: by name, and which events are owed to it. */
export interface DeclaredSink {
  readonly name: string;
  readonly events: readonly LeadEvent[];
  /** Whether leads that were listed before the sink was there are owed to it, or recorded as skipped. */
  readonly backfill: boolean;
  /** The name it had before: what the ledger has under that name goes on under this one. */
  readonly formerly?: string | undefined;
  /** Where it brings leads, in words and without secrets: what it got before this changed is somewhere else. */
  readonly place?: string | undefined;
  /** How it is configured, as JSON without secrets; kept to tell what a changed configuration changes. */
  readonly config?: string | undefined;
}

/** A source as it is configured: JSON without secrets. */
export interface DeclaredSource {
  readonly name: string;
  readonly config: string;
}

/** What the ledger was last told of the configuration. */
export interface LastDeclaration {
  /** Those that are no longer declared too. */
  readonly sources: readonly {
    readonly name: string;
    /** Undefined when it is no longer declared. */
    readonly config: string | undefined;
    readonly leads: number;
    /** Where its leads come from; undefined while it has none, and once its service has moved. */
    readonly origin: string | undefined;
  }[];
  /** Those that are no longer declared too. */
  readonly sinks: readonly {
    readonly name: string;
    readonly active: boolean;
    readonly config: string | undefined;
    readonly pending: number;
    /** Leads that were listed, or have changed, while it was not declared. */
    readonly missed: number;
  }[];
}
