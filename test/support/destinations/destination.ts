import type { OtherSink, Scene } from '../scene/scene.ts';

/** A sink that only some runs have: its destination, and what can go wrong there. */
export interface Destination extends Required<OtherSink> {
  /** Prepares the destination before leadsync runs for the first time. */
  setUp?(scene: Scene): Promise<void>;
  /** Begins a trouble, which lasts until `behave`. */
  misbehave(trouble: string): unknown;
  /** Ends every trouble. */
  behave(): unknown;
  /** Returns what is wrong at the destination beside the leads that it holds, in words. */
  faults(): Promise<string[]>;
  close(): Promise<void>;
}

/** A type of destination. */
export interface DestinationType {
  /** The troubles, in words. */
  readonly troubles: readonly string[];
  /** Returns the mapping with that number. */
  fields(number: number): Readonly<Record<string, unknown>>;
  /** Starts one. `folder` is the run's own. */
  open(folder: string): Promise<Destination>;
}

/** Returns leads that occur more than once under a key that has to be unique, in words. */
export function repeatedKeys(keys: readonly string[]): string[] {
  const seen = new Set<string>();
  const twice = keys.filter((key) => seen.size === seen.add(key).size);
  return [...new Set(twice)].map((key) => `${key} is there twice`);
}
