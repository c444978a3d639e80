import { LedgerError } from '../contract/ledger-error.ts';
import type { LedgerEngine } from '../engine.ts';

/** What is known of an engine from the moment that it is open, and is asked of it by no message. */
type AtHand = 'id' | 'opening' | 'failing' | 'reportDamage';

/** A question that an engine is asked by a message. */
export type Question = Exclude<keyof LedgerEngine, AtHand>;

/** Each question, so that the compiler finds one that is missing. */
const QUESTIONS: Readonly<Record<Question, true>> = {
  activity: true,
  databaseStats: true,
  backfill: true,
  backlog: true,
  beginBlock: true,
  beginLease: true,
  changedElsewhere: true,
  claimAndBegin: true,
  clockAt: true,
  clockWentBack: true,
  close: true,
  declareSinks: true,
  declareSources: true,
  deliveredLeads: true,
  deliveries: true,
  reclaimLeases: true,
  erase: true,
  findPerson: true,
  finishErasing: true,
  finishPoll: true,
  finishReplays: true,
  forget: true,
  forgetOrigin: true,
  formerPlaces: true,
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
  resume: true,
  retry: true,
  scrub: true,
  settle: true,
  startPoll: true,
  status: true,
  checkpointLog: true,
  toldErasure: true,
  trace: true,
  unfinishedErasures: true,
  unknownIndexes: true,
  upcoming: true,
  vitals: true,
  unbegunBatches: true,
};

/** The names of all questions. */
export const questions = Object.keys(QUESTIONS) as readonly Question[];

/** One question. Those that are asked in one turn of the event loop travel in one message, in order. */
export interface Asked {
  readonly no: number;
  readonly question: Question;
  readonly values: readonly unknown[];
}

/** To the thread: questions; damage that somebody else has met in the file; or what its program is told beside them. */
export type Message =
  | { readonly asked: readonly Asked[] }
  | { readonly damage: Failure }
  | { readonly told: unknown };

/** From the thread, first: what the engine says of itself, or why it cannot be opened. */
export type Opening =
  | { readonly opened: Pick<LedgerEngine, 'id' | 'opening'> }
  | { readonly failure: Failure };

/** What came of one question. */
export type Answer = { readonly no: number } & ({ readonly value: unknown } | { readonly failure: Failure });

/** From the thread: answers, and what `LedgerEngine.failing` gives at this moment. */
export interface Answers {
  readonly answers: readonly Answer[];
  readonly failing: Failure | undefined;
}

/** An error's parts: a message cannot hand over a class. */
export type Failure =
  | ({ readonly kind: 'ledger' } & Pick<LedgerError, 'code' | 'message' | 'hint' | 'cause'>)
  | { readonly kind: 'other'; readonly error: unknown };

/** Takes an error apart, for a message. */
export function partsOf(error: unknown): Failure {
  if (!(error instanceof LedgerError)) return { kind: 'other', error };
  const { code, message, hint, cause } = error;
  return { kind: 'ledger', code, message, hint, cause };
}

/** Puts an error together again. */
export function errorOf(failure: Failure): unknown {
  if (failure.kind === 'other') return failure.error;
  const { code, message, hint, cause } = failure;
  return new LedgerError(code, message, hint, cause);
}
