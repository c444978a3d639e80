import type { LeadEvent } from '../../leads/delivery.ts';

/** A configured sink, as far as the ledger has to know it. */
export interface DeclaredSink {
  readonly name: string;
  readonly events: readonly LeadEvent[];
  /** Whether the ledger owes it leads that were listed before it was configured; otherwise it records them as skipped. */
  readonly backfill: boolean;
  /** Its previous name; the ledger continues that sink's deliveries under the new name. */
  readonly formerly?: string | undefined;
  /** A description of its destination, without secrets. When it changes, the ledger remembers the old one for `formerDestinations`. */
  readonly place?: string | undefined;
  /** Its configuration as JSON, without secrets; stored so that `plan` can show what a new configuration changes. */
  readonly config?: string | undefined;
}

/** A configured source. */
export interface DeclaredSource {
  readonly name: string;
  /** Its configuration as JSON, without secrets. */
  readonly config: string;
}

/** The configuration that was declared last, and earlier sources and sinks that it no longer contains. */
export interface LastDeclaration {
  readonly sources: readonly {
    readonly name: string;
    /** Undefined if the source is no longer declared. */
    readonly config: string | undefined;
    readonly leads: number;
    /** The origin of its base URL; undefined while the source has no leads, and after the operator declared that its service moved. */
    readonly origin: string | undefined;
  }[];
  readonly sinks: readonly {
    readonly name: string;
    readonly active: boolean;
    readonly config: string | undefined;
    readonly pending: number;
    /** The number of leads that were new or changed while the sink was not declared. */
    readonly missed: number;
  }[];
}
