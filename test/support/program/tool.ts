import { setImmediate as nextTurn } from 'node:timers/promises';
import { Closers } from '../../../src/platform/process/closers.ts';

/** Why a tool cannot continue, printed without a stack trace: the tool itself has no bug. */
export class ToolFailure extends Error {
  override readonly name = 'ToolFailure';
}

/** The resources that a tool has opened. */
export class Opened {
  readonly #closers = new Closers();
  #closing: Promise<unknown[]> = Promise.resolve([]);
  #stopped = false;

  /** Whether opening is no longer permitted. */
  get stopped(): boolean {
    return this.#stopped;
  }

  /** Opens a resource that is closed with the rest, even if closing begins while it is still opening. */
  async add<T>(open: () => T | Promise<T>, close: (opened: T) => unknown): Promise<T> {
    if (this.#stopped) throw new ToolFailure('It was stopped.');
    const opening = (async () => open())();
    this.#closers.push(async () => {
      const [result] = await Promise.allSettled([opening]);
      if (result.status === 'fulfilled') await close(result.value);
    });
    return opening;
  }

  /** Closes everything, last first. Returns the errors. */
  closeAll(): Promise<unknown[]> {
    this.#closing = this.#closing.then(async (failed) => [...failed, ...(await this.#closers.closeAll())]);
    return this.#closing;
  }

  /** Closes everything and prevents further opening. */
  stop(): Promise<unknown[]> {
    this.#stopped = true;
    return this.closeAll();
  }
}

/**
 * Runs the work of a tool, which returns the exit code of the process. Always closes what the work opened: also when it throws (exit code
 * 1), and on SIGINT, SIGTERM and SIGHUP (130).
 */
export async function runTool(work: (opened: Opened) => Promise<number>): Promise<void> {
  const opened = new Opened();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    // The terminal and npm both send the signal; the second one finds closing in progress.
    process.on(signal, () => void opened.stop().then(() => process.exit(130)));
  }
  try {
    const exitCode = await work(opened);
    if (!opened.stopped) process.exitCode = exitCode;
  } catch (error) {
    // The failure may come from a child that received the same signal; this process handles it by the next turn.
    await nextTurn();
    // After a signal, the user knows why the work stopped.
    if (!opened.stopped) {
      process.exitCode = 1;
      say(error);
    }
  }
  for (const failure of await opened.stop()) say(failure);
}

function say(error: unknown): void {
  const text = error instanceof ToolFailure || !(error instanceof Error) ? error : error.stack;
  process.stderr.write(`${error instanceof ToolFailure ? error.message : text}\n`);
}
