/** What a configuration would change for one sink, compared with the last configuration that the ledger recorded. */
export type PlannedSink =
  /**
   * `leads`: number of leads listed before; they are owed to the sink, or skipped if its `backfill` is off. 0 if the sink does not take
   * `created` events. `formerly`: the former name that the configuration states, set if no known sink has that name but other sinks
   * (`leaving`) are removed. In that case, a rename was probably intended.
   */
  | {
      readonly kind: 'added';
      readonly name: string;
      readonly leads: number;
      readonly backfill: boolean;
      readonly cost?: BackfillCost;
      readonly formerly?: string;
      readonly leaving?: readonly string[];
    }
  /** `leads`: number of leads that were listed or changed while the sink was not configured. */
  | {
      readonly kind: 'back';
      readonly name: string;
      readonly leads: number;
      readonly backfill: boolean;
      readonly pending: number;
      readonly cost?: BackfillCost;
    }
  /** The sink cannot be renamed, because another sink has its new name. leadsync refuses the configuration. */
  | { readonly kind: 'name-taken'; readonly name: string; readonly formerly: string }
  /** `options`: changed options, except the name. */
  | {
      readonly kind: 'renamed';
      readonly name: string;
      readonly formerly: string;
      readonly options: readonly string[];
      readonly pending: number;
    }
  /** `disabled`: whether the sink is still in the configuration, but disabled. `dead`: number of dead deliveries, which stay. */
  | {
      readonly kind: 'removed';
      readonly name: string;
      readonly disabled: boolean;
      readonly pending: number;
      readonly dead: number;
    }
  | {
      readonly kind: 'altered';
      readonly name: string;
      readonly options: readonly string[];
      readonly pending: number;
      /** Set if the sink's mapping changes and leads were tried. */
      readonly routing?: Routing;
    };

/** How much of the destination's daily limit is used by the leads owed to a sink. Absent if there is no such limit, or if no leads are owed. */
export interface BackfillCost {
  /** What the destination counts: `tokens`. */
  readonly unit: string;
  readonly amount: number;
  /** Whether the sink's `where` may leave out some of the leads, so that they cost less. */
  readonly at_most: boolean;
  /** Absent if neither the configuration nor an earlier answer from the destination states it. */
  readonly daily_limit?: number;
}

/** How many of the last leads go to a sink. */
export interface Routing {
  /** The number of leads that were tried. */
  readonly leads: number;
  /** How many of them go to the sink with the last configuration, and with the planned one. */
  readonly before: number;
  readonly after: number;
  /** How many go to it with the planned configuration only, and with the last one only. */
  readonly joining: number;
  readonly leaving: number;
  /** For how many of them an expression of the planned mapping fails, so that they would be refused. */
  readonly failed: number;
  /** The number of pending deliveries that keep the last mapping, because they were sent under it. */
  readonly keeping: number;
}

/** What a configuration would change for one source. The leads of a removed source stay. `options`: changed options. */
export type PlannedSource =
  /** `leads`: number of leads that are known because the source was configured before. */
  | { readonly kind: 'added'; readonly name: string; readonly leads: number }
  | { readonly kind: 'removed'; readonly name: string; readonly leads: number }
  | { readonly kind: 'altered'; readonly name: string; readonly options: readonly string[] }
  /**
   * The source has a different address from the one that its leads come from. leadsync does not poll it until `leadsync moved` confirms the
   * address.
   */
  | {
      readonly kind: 'elsewhere';
      readonly name: string;
      readonly origin: string;
      readonly leads_from: string;
    };

/** What a configuration would change for one export or backup. The files of a removed one stay. `options`: changed options. */
export type PlannedExport = { readonly name: string; readonly what: FileWord } & (
  | { readonly kind: 'added' }
  | { readonly kind: 'removed' }
  | { readonly kind: 'altered'; readonly options: readonly string[] }
);

/** Whether the files are those of an export or of a backup. */
export type FileWord = 'export' | 'backup';

/** What a configuration would change. */
export interface Plan {
  readonly sources: readonly PlannedSource[];
  readonly sinks: readonly PlannedSink[];
  readonly exports: readonly PlannedExport[];
}
