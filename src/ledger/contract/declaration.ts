import type { LeadEvent } from '../../leads/delivery.ts';
import type { Quota } from '../../leads/quota.ts';

/** What the ledger needs to know about a configured sink. */
export interface DeclaredSink {
  readonly name: string;
  readonly events: readonly LeadEvent[];
  /** Whether the sink is owed the leads that were listed before it was configured. If not, the ledger records them as skipped. */
  readonly backfill: boolean;
  /** The sink's previous name. The ledger continues the deliveries of that sink under the new name. */
  readonly formerly?: string | undefined;
  /**
   * A description of the sink's destination, without secrets. If it changes, the ledger keeps the old description for `formerDestinations`.
   */
  readonly place?: string | undefined;
  /** The text of the sink's mapping; undefined if it gets leads as received. */
  readonly mapping?: string | undefined;
  /** The sink's configuration as JSON, without secrets, stored so that `plan` can show what a new configuration changes. */
  readonly config?: string | undefined;
}

/** A configured source. */
export interface DeclaredSource {
  readonly name: string;
  /** The source's configuration as JSON, without secrets. */
  readonly config: string;
}

/** The last declared configuration, and the sources and sinks from earlier configurations that it no longer contains. */
export interface LastDeclaration {
  readonly sources: readonly {
    readonly name: string;
    /** Undefined if the source is no longer declared. */
    readonly config: string | undefined;
    readonly leads: number;
    /**
     * The origin of the source's base URL; undefined while the source has no leads, and after an operator declared that the service has
     * moved.
     */
    readonly origin: string | undefined;
  }[];
  readonly sinks: readonly {
    readonly name: string;
    readonly active: boolean;
    /**
     * The sink's name in the ids of its deliveries. Differs from `name` if the sink was renamed, or if a renamed sink already uses `name` in
     * its ids.
     */
    readonly nameInIds: string;
    readonly config: string | undefined;
    readonly pending: number;
    /** The number of dead deliveries. They stay when the sink is removed. */
    readonly dead: number;
    /**
     * The number of leads that the sink has missed: those that were new or changed while it was not declared, and those that an unfinished
     * backfill has not reached. 0 for a declared sink.
     */
    readonly missed: number;
    /** How much of its daily limit the destination last reported as used. */
    readonly quota?: Quota | undefined;
  }[];
}

type KnownSink = Pick<LastDeclaration['sinks'][number], 'name' | 'active' | 'nameInIds'>;

/**
 * Whether a sink cannot be renamed, because the ledger knows another sink with its new name.
 * @param taken the sink that has the new name. It is the renamed sink itself if the ids of its deliveries contain the former name.
 * @param former the sink that has the former name
 */
export function isNameTaken(taken: KnownSink, former: KnownSink): boolean {
  return taken.nameInIds !== former.name && (former.active || !taken.active);
}
