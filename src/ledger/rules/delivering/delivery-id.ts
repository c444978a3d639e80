/** The value of `replay` in every delivery of the event `erased`, so that a version has at most one such delivery to each sink. */
export const ERASURE = -1;

/** The reason recorded for a skipped delivery of an erased lead. */
export const ERASED = 'the lead was erased on request';

/** The parts of a delivery's id. */
interface DeliveryId {
  /** The sink's name in the ids of its deliveries. */
  readonly nameInIds: string;
  readonly source: string;
  readonly lead: bigint;
  readonly version: number;
  /** The start of the version's hash. */
  readonly hash: string;
  /** 0, when the replay was requested, or `ERASURE`. */
  readonly replay: number;
  /** How many times the id changed because of a new mapping. */
  readonly reissued: number;
}

/** Returns the parts of a delivery's id; undefined for any other text. No engine stores the id as a whole. */
export function parseDeliveryId(id: string): DeliveryId | undefined {
  const match =
    /^([^:]+):([^:]+):(\d{1,19}):(\d{1,9}):([0-9a-f]{8})(?::(?:r(\d{1,15})|(erased)))?(?::m(\d{1,9}))?$/.exec(
      id,
    );
  if (!match) return undefined;
  const [, nameInIds = '', source = '', lead = '', version, hash = '', replay, erased, reissued] = match;
  return {
    nameInIds,
    source,
    lead: BigInt.asIntN(64, BigInt(lead)),
    version: Number(version),
    hash,
    replay: erased ? ERASURE : Number(replay ?? 0),
    reissued: Number(reissued ?? 0),
  };
}
