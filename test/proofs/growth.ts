/** The memory of a process at a time. */
export interface Sample {
  readonly day: number;
  readonly mb: number;
}

/** How the memory of a process grew. */
export interface Growth {
  /** The median of the slopes between all pairs of samples (Theil–Sen estimator), which single peaks do not change. */
  readonly mbPerDay: number;
  readonly medianMb: number;
  readonly maxMb: number;
}

/** More samples do not change the result, and the number of pairs is their square. */
const MAX_SAMPLES = 1_000;

/** Returns how memory grew over the samples, which are in order of time. @throws Error if there are fewer than two */
export function growthOf(samples: readonly Sample[]): Growth {
  const every = Math.ceil(samples.length / MAX_SAMPLES);
  const some = samples.filter((_, at) => at % every === 0);
  if (some.length < 2) throw new Error('growth needs two samples');
  const slopes = some.flatMap((one, at) =>
    some.slice(at + 1).map((later) => (later.mb - one.mb) / (later.day - one.day)),
  );
  const mbs = samples.map(({ mb }) => mb);
  return { mbPerDay: middle(slopes), medianMb: middle(mbs), maxMb: Math.max(...mbs) };
}

function middle(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
