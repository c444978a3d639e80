import { setImmediate as nextTurn } from 'node:timers/promises';
import { Closers } from '../../../src/platform/process/closers.ts';

/** Why a tool cannot go on, said as it is: nothing is wrong with the tool itself. */
export class ToolFailure extends Error {
  override readonly name = 'ToolFailure';
}

/** What a tool has opened. */
export class Opened {
  readonly #closers = new Closers();
  #closing: Promise<unknown[]> = Promise.resolve([]);
  #stopped = false;

  /** Whether nothing more is opened. */
  get stopped(): boolean {
    return this.#stopped;
  }

  /** Opens something that is closed with the rest, also when everything is closed while it is still opening. */
  async add<T>(open: () => T | Promise<T>, close: (opened: T) => unknown): Promise<T> {
    if (this.#stopped) throw new ToolFailure('It was stopped.');
    const opening = (async () => open())();
    this.#closers.push(async () => {
      const [result] = await Promise.allSettled([opening]);
      if (result.status === 'fulfilled') await close(result.value);
    });
    return opening;
  }

  /** Closes everything, last first. Gives what failed. */
  closeAll(): Promise<unknown[]> {
    this.#closing = this.#closing.then(async (failed) => [...failed, ...(await this.#closers.closeAll())]);
    return this.#closing;
  }

  /** Closes everything, and lets nothing more be opened. */
  stop(): Promise<unknown[]> {
    this.#stopped = true;
    return this.closeAll();
  }
}

/**
 * Does the work of a tool, which gives the exit code of the process. What it has opened is closed whatever happens: also when
 * the work throws (exit code 1), and on SIGINT, SIGTERM and SIGHUP (130).
 */
export async function runTool(work: (opened: Opened) => Promise<number>): Promise<void> {
  const opened = new Opened();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    // The terminal and npm both send it; the second one finds the closing under way.
    process.on(signal, () => void opened.stop().then(() => process.exit(130)));
  }
  try {
    const exitCode = await work(opened);
    if (!opened.stopped) process.exitCode = exitCode;
  } catch (error) {
    // What has failed may be a child that got the same signal: then it is heard by the next turn.
    await nextTurn();
    // Whoever has asked for the end knows why the work has broken off.
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
