import type { DeliveryState, LeadEvent } from '../../../leads/delivery.ts';
import type { Quota } from '../../../leads/quota.ts';
import { HEALTHY, type SinkHealth } from '../../../leads/sink-health.ts';
import { safeRaw } from '../../../leads/storable-text.ts';
import { LedgerError } from '../../contract/ledger-error.ts';

/** A row of the table `_sinks`. */
export interface SinkRow {
  readonly sinkNo: number;
  readonly name: string;
  readonly active: boolean;
  readonly events: readonly LeadEvent[];
  readonly backfill: boolean;
  readonly owedThrough: number;
  readonly backfillTo: number;
  readonly health: SinkHealth;
  /** The number of deliveries in each state. */
  readonly counts: Readonly<Record<DeliveryState, number>>;
  /**
   * The sink's name in the ids of its deliveries. Differs from `name` if the sink was renamed, or if a renamed sink already uses `name` in its
   * ids.
   */
  readonly nameInIds: string;
  /** The last configuration as JSON, without secrets. */
  readonly config: string | undefined;
}

/**
 * Returns the name to use in the delivery ids of a new sink if a renamed sink already uses the new sink's own name in its ids. Returns
 * null if the new sink's own name is free.
 */
export function freeNameInIds(name: string, namesInIds: readonly string[]): string | null {
  const taken = new Set(namesInIds);
  let free = name;
  for (let n = 2; taken.has(free); n += 1) free = `${name}~${n}`;
  return free === name ? null : free;
}

/** Returns the error for a sink that cannot be renamed, because the ledger knows another sink with the new name. */
export function nameTaken(name: string, formerly: string): LedgerError {
  return new LedgerError(
    'name-taken',
    `The sink ${formerly} cannot be renamed to ${name}, because the ledger knows another sink ${name}.`,
    `Choose another new name, or keep the name ${formerly}. To continue with the other sink ${name} instead, remove \`formerly\`: it then gets every lead that it missed.`,
  );
}

/**
 * Returns a sink's health as the JSON that the ledger stores. Converts dates to ms since 1970, and replaces NUL and lone surrogates, because the
 * views read the JSON with the functions of the database.
 */
export function encodeHealth(health: SinkHealth): string {
  const stored: StoredHealth = {
    ...health,
    refusingSince: health.refusingSince?.getTime(),
    heldSince: health.heldSince?.getTime(),
    probeAt: health.probeAt?.getTime(),
    lastDeliveredAt: health.lastDeliveredAt?.getTime(),
    pausedSince: health.pausedSince?.getTime(),
    renewedAt: health.renewedAt?.getTime(),
    quota: health.quota && { ...health.quota, readAt: health.quota.readAt.getTime() },
  };
  const json = JSON.stringify(stored);
  return safeRaw(json) ?? json;
}

type StoredHealth = {
  [Key in keyof Omit<SinkHealth, 'quota'>]?: Date extends SinkHealth[Key]
    ? number | undefined
    : SinkHealth[Key];
} & {
  readonly quota?: (Omit<Quota, 'readAt'> & { readonly readAt: number }) | undefined;
};

/** Returns a sink's health from its stored JSON. */
export function decodeHealth(text: string): SinkHealth {
  const stored: StoredHealth = JSON.parse(text);
  const date = (ms: number | undefined) => (ms === undefined ? undefined : new Date(ms));
  return {
    ...HEALTHY,
    recent: stored.recent ?? '',
    refusals: stored.refusals ?? 0,
    probes: stored.probes ?? 0,
    places: stored.places,
    heldReason: stored.heldReason,
    heldStatus: stored.heldStatus,
    pausedReason: stored.pausedReason,
    refusingSince: date(stored.refusingSince),
    heldSince: date(stored.heldSince),
    probeAt: date(stored.probeAt),
    lastDeliveredAt: date(stored.lastDeliveredAt),
    pausedSince: date(stored.pausedSince),
    renewedAt: date(stored.renewedAt),
    quota: stored.quota && { ...stored.quota, readAt: new Date(stored.quota.readAt) },
  };
}
