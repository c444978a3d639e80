import type { Writable } from 'node:stream';
import type { Clock } from '../../platform/time/clock.ts';
import { eachLine, keepEnd } from './read-output.ts';
import { type Ended, type Program, startProgram } from './start-program.ts';

/** How a run of a program ended. */
export interface Run extends Ended {
  /** Why leadsync asked the program to end; undefined if it ended by itself. */
  readonly cut: 'timeout' | 'stop' | undefined;
  /** The last bytes that the program wrote to standard error. They may contain a lead, and secrets. */
  readonly stderr: Buffer;
}

interface RunLimits {
  readonly clock: Clock;
  /** Time after which the program gets SIGTERM, in ms. */
  readonly timeoutMs: number;
  /** Time between that SIGTERM and SIGKILL, in ms. */
  readonly graceMs: number;
  /** Ends the program early, and with less grace. */
  readonly stop: AbortSignal;
  /** Called with each line that the program writes to standard output. Without it, standard output is discarded. */
  readonly onLine?: ((line: string) => void) | undefined;
}

/** Time between SIGTERM and SIGKILL if leadsync stops, in ms: an aborted attempt must end within half a second. */
const STOP_GRACE_MS = 300;
/** Maximum number of bytes of standard error to keep. */
const MAX_STDERR = 8 * 1024;
/** Minimum size of a write to the program, except the last one, in bytes. Lines are short, and each write is a system call. */
const WRITE_BYTES = 64 * 1024;

/**
 * Runs a program with these lines as its standard input, and waits for its end. Creates lines only as fast as the program reads
 * them.
 * @throws the error from Node.js if no process can be started, or an error from `lines`
 */
export async function runProgram(program: Program, lines: Iterable<string>, limits: RunLimits): Promise<Run> {
  const { clock, timeoutMs, graceMs, stop, onLine } = limits;
  const started = await startProgram(program);
  const over = new AbortController();
  let cut: Run['cut'];
  const endAfter = async (why: 'timeout' | 'stop', ms: number) => {
    cut ??= why;
    started.signal('SIGTERM');
    await clock.sleep(ms, over.signal);
    if (!over.signal.aborted) started.signal('SIGKILL');
  };
  const onStop = () => void endAfter('stop', STOP_GRACE_MS);
  stop.addEventListener('abort', onStop, { once: true });
  if (stop.aborted) onStop();
  void clock.sleep(timeoutMs, over.signal).then(async () => {
    if (!over.signal.aborted) await endAfter('timeout', graceMs);
  });
  const stderr = keepEnd(started.stderr, MAX_STDERR);
  if (onLine) eachLine(started.stdout, onLine);
  else started.stdout.resume();
  const fed = feed(started.stdin, lines).catch((error: unknown) => {
    started.signal('SIGKILL'); // the end of its input would look like the end of the batch
    return error;
  });
  try {
    const ended = await started.ended;
    const fault = await fed;
    if (fault !== undefined) throw fault;
    return { ...ended, cut, stderr: stderr() };
  } finally {
    over.abort();
    stop.removeEventListener('abort', onStop);
  }
}

/** Writes lines as fast as the program reads them, until it stops reading. @throws the error from `lines` */
async function feed(stdin: Writable, lines: Iterable<string>): Promise<void> {
  for (const chunk of inChunks(lines)) {
    if (stdin.destroyed) return;
    if (!stdin.write(chunk)) await drained(stdin);
  }
  stdin.end();
}

/** Resolves when a stream can take more data, or is closed. */
function drained(stream: Writable): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      stream.off('drain', done).off('close', done);
      resolve();
    };
    stream.on('drain', done).on('close', done);
  });
}

function* inChunks(lines: Iterable<string>): Iterable<Buffer> {
  let waiting: Buffer[] = [];
  let bytes = 0;
  for (const line of lines) {
    const buffer = Buffer.from(`${line}\n`);
    waiting.push(buffer);
    bytes += buffer.length;
    if (bytes < WRITE_BYTES) continue;
    yield Buffer.concat(waiting);
    [waiting, bytes] = [[], 0];
  }
  if (bytes > 0) yield Buffer.concat(waiting);
}
