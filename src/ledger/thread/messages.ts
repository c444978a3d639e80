import { LedgerError } from '../contract/ledger-error.ts';
import type { LedgerEngine } from '../engine.ts';

/** The members of an engine that its proxy answers locally, without a message. */
type LocalMember = 'id' | 'opening' | 'failing' | 'reportDamage';

/** A method of an engine that its proxy calls by message. */
export type EngineMethod = Exclude<keyof LedgerEngine, LocalMember>;

/** The methods that the proxy calls by message. A record instead of an array, so that the compiler reports a missing method. */
const METHODS: Readonly<Record<EngineMethod, true>> = {
  workOf: true,
  databaseStats: true,
  backfill: true,
  backlog: true,
  beginBlock: true,
  cancelReplays: true,
  cancellable: true,
  beginKnown: true,
  broughtBack: true,
  beginLease: true,
  changedElsewhere: true,
  claimAndBegin: true,
  clockAt: true,
  clockWentBack: true,
  close: true,
  declareSinks: true,
  declareSources: true,
  deliveredLeads: true,
  countDue: true,
  deliveries: true,
  discard: true,
  discardable: true,
  reclaimLeases: true,
  erase: true,
  findPerson: true,
  findLeads: true,
  finishErasing: true,
  finishPoll: true,
  finishReplays: true,
  forget: true,
  forgettable: true,
  forgetOrigin: true,
  formerDestinations: true,
  undoBegin: true,
  leadsAtSink: true,
  historyAfter: true,
  historyNow: true,
  holders: true,
  isReplaced: true,
  recordOrigin: true,
  computeClientKeys: true,
  lastCompleteAt: true,
  lastDeclaration: true,
  lastPolls: true,
  listingMark: true,
  feed: true,
  feedCursor: true,
  recordProgress: true,
  rejected: true,
  rejectedText: true,
  overview: true,
  pause: true,
  personRecord: true,
  polledHours: true,
  recentAttempts: true,
  record: true,
  release: true,
  releaseMemory: true,
  removeOld: true,
  removeUpgradeCopies: true,
  replay: true,
  replayable: true,
  resume: true,
  retriable: true,
  retry: true,
  scrub: true,
  settle: true,
  sinkActivity: true,
  failureReasons: true,
  startPoll: true,
  status: true,
  checkpointLog: true,
  sinkErasures: true,
  trace: true,
  unfinishedErasures: true,
  erasedLeads: true,
  unknownIndexes: true,
  upcoming: true,
  newestContents: true,
  sentPending: true,
  vitals: true,
  unbegunBatches: true,
};

/** The names of all methods that are called by message. */
export const engineMethods = Object.keys(METHODS) as readonly EngineMethod[];

/** A method call. The calls of one turn of the event loop share one message, in order. */
export interface Call {
  readonly no: number;
  readonly method: EngineMethod;
  readonly args: readonly unknown[];
}

/** A message to the thread: calls, damage to the file that another thread reported, or settings for the thread's program. */
export type ThreadMessage =
  | { readonly calls: readonly Call[] }
  | { readonly damage: ErrorParts }
  | { readonly settings: unknown };

/** The first message from the thread: the engine's local members, or why the engine cannot be opened. */
export type OpenResult =
  | { readonly opened: Pick<LedgerEngine, 'id' | 'opening'> }
  | { readonly failure: ErrorParts };

/** The result of one call. */
export type Result = { readonly no: number } & (
  | { readonly value: unknown }
  | { readonly failure: ErrorParts }
);

/** A message from the thread: results, and the present return value of `LedgerEngine.failing`. */
export interface Results {
  readonly results: readonly Result[];
  readonly failing: ErrorParts | undefined;
}

/** The parts of an error. They replace the error in messages, which cannot carry an instance of a class. */
export type ErrorParts =
  | ({ readonly kind: 'ledger' } & Pick<LedgerError, 'code' | 'message' | 'hint' | 'cause'>)
  | { readonly kind: 'other'; readonly error: unknown };

/** Returns the parts of an error, for a message. */
export function toErrorParts(error: unknown): ErrorParts {
  if (!(error instanceof LedgerError)) return { kind: 'other', error };
  const { code, message, hint, cause } = error;
  return { kind: 'ledger', code, message, hint, cause };
}

/** Returns the error that has these parts. */
export function fromErrorParts(failure: ErrorParts): unknown {
  if (failure.kind === 'other') return failure.error;
  const { code, message, hint, cause } = failure;
  return new LedgerError(code, message, hint, cause);
}
