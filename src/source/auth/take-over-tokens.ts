import { codeOf } from '../../platform/failures/error-code.ts';
import type { DocumentStore } from '../../platform/files/document-store.ts';
import type { Secret } from '../../platform/options/secret.ts';
import type { Clock, Random } from '../../platform/time/clock.ts';
import { SourceError } from '../contract/source.ts';
import { withRenewalLock } from './renewal-lock.ts';
import { isSealed, Seal } from './token-seal.ts';

/** The source, as documents spell it, in the name of a document of its tokens: the token, the note of a login, or a token that was set aside. */
const DOCUMENT = /^(.+?)\.(?:login|json(?:\.[0-9a-f]+)?(?:\.unusable)?)$/;

/** How long a renewal by another process is waited for, in ms. The right of a dead process is free before that. */
const PATIENCE_MS = 25_000;

/** What the move works with. */
export interface TakeOverParts {
  /** The key that encrypts tokens that are in plain text. Absent: they stay so. */
  readonly key?: Secret;
  readonly clock: Clock;
  readonly random: Random;
}

/** Sources, in the spelling of the configuration: those whose tokens were moved, and those of which a document was left behind. */
export interface TakenOver {
  readonly sources: readonly string[];
  readonly left: readonly string[];
}

/**
 * Moves all tokens from one store to another. A token for which the other store has a different one is not moved, because its refresh token may be
 * used up, and a service can end a login whose refresh token is used twice: it gets a name that ends with `.left`. No process may use the first
 * store. @throws the error of a store
 */
export async function takeOverTokens(
  from: DocumentStore,
  to: DocumentStore,
  parts: TakeOverParts,
): Promise<TakenOver> {
  const names = await from.names().catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return []; // no token has ever been stored there
    throw error;
  });
  const documents = names.flatMap((name) => {
    const source = DOCUMENT.exec(name)?.[1];
    return source === undefined ? [] : [{ name, source }];
  });
  const [sources, left]: [string[], string[]] = [[], []];
  for (const [source, ofSource] of Map.groupBy(documents, (one) => one.source)) {
    // The note of a login comes first: without it, leadsync would read the source with client credentials.
    const isNote = ({ name }: { name: string }) => name.endsWith('.login');
    const ordered = [...ofSource.filter(isNote), ...ofSource.filter((one) => !isNote(one))].map(
      ({ name }) => name,
    );
    const isComplete = await moveSource(source, ordered, from, to, parts);
    (isComplete ? sources : left).push(decodeURIComponent(source));
  }
  return { sources, left };
}

/** Moves the documents of one source under its right to renew. Returns whether none was left behind. */
async function moveSource(
  source: string,
  names: readonly string[],
  from: DocumentStore,
  to: DocumentStore,
  { key, clock, random }: TakeOverParts,
): Promise<boolean> {
  const right = { tryLock: () => to.tryLock(source), lockPlace: to.placeOf(`${source}.lock`) };
  const lock = { source, store: right, patienceMs: PATIENCE_MS, clock, random };
  const move = async () => {
    let isComplete = true;
    for (const name of names) isComplete = (await moveOne(name, source, from, to, key)) && isComplete;
    return isComplete;
  };
  try {
    return await withRenewalLock(lock, async () => undefined, move, new AbortController().signal);
  } catch (error) {
    if (error instanceof SourceError) return false; // another machine renews all the time; the next start tries again
    throw error;
  }
}

async function moveOne(
  name: string,
  source: string,
  from: DocumentStore,
  to: DocumentStore,
  key: Secret | undefined,
): Promise<boolean> {
  const text = await from.read(name);
  if (text === undefined) return true;
  const existing = await to.read(name);
  const isNote = name.endsWith('.login');
  if (existing !== undefined && existing !== text && !isNote) {
    await from.rename(name, `${name}.left`);
    return false;
  }
  if (existing === undefined) await to.write(name, isNote ? text : await sealed(text, source, key));
  await from.remove(name);
  return true;
}

async function sealed(text: string, source: string, key: Secret | undefined): Promise<string> {
  if (key === undefined || isSealed(text)) return text;
  return `${JSON.stringify(await new Seal(key).close(text.trim(), decodeURIComponent(source)))}\n`;
}
