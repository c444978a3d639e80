import { CommanderError } from 'commander';
import { armFailpoints } from '../platform/process/failpoint.ts';
import { rewriteCommands, startCommand, typedCommand } from '../platform/process/typed-command.ts';
import { printableLines } from '../platform/text/printable.ts';
import { systemClock } from '../platform/time/clock.ts';
import type { LogStream } from '../telemetry/logger.ts';
import { program } from './program.ts';
import { CommandFailure } from './shell/command-failure.ts';
import type { Surroundings } from './shell/context.ts';
import { ExitCode } from './shell/exit-code.ts';

type Streams = Pick<Surroundings, 'stdout' | 'stderr' | 'stdin' | 'env'>;

/** Runs one command line, reports a failure on standard error, and returns the exit code. Never rejects. */
export async function runCommandLine(
  args: readonly string[],
  given: Streams & Partial<Surroundings>,
): Promise<number> {
  const stderr = asTypedTo(given.stderr, given.env);
  const { clock = systemClock, random = Math.random, stdout, env } = given;
  const surroundings: Surroundings = {
    clock,
    random,
    stdout,
    stderr,
    // Node loads the modules of a stream when `process.stdin` is read first, and most commands do not read it.
    get stdin() {
      return given.stdin;
    },
    env,
  };
  let exitCode: number = ExitCode.done;
  try {
    arm(surroundings.env['LEADSYNC_FAILPOINTS']);
    const leadsync = await program(args, surroundings, (code) => {
      exitCode = code;
    });
    await leadsync.parseAsync(args, { from: 'user' });
    return exitCode;
  } catch (error) {
    // Commander has already printed its message. Its own exit code for wrong usage is 1.
    if (error instanceof CommanderError) return error.exitCode === 0 ? ExitCode.done : ExitCode.usage;
    const { explainFailure } = await import('./shell/explain-failure.ts'); // imported late: it loads the errors of every room
    const failure = explainFailure(error);
    surroundings.stderr.write(`${printableLines(failure.message)}\n`);
    return failure.exitCode;
  }
}

/**
 * Returns a stream that rewrites the commands in messages to the form in which the reader types them. Used only for standard error, because
 * standard output is data.
 */
function asTypedTo(stream: LogStream, env: Surroundings['env']): LogStream {
  if (typedCommand(env) === typedCommand({}) && startCommand(env) === undefined) return stream;
  return Object.create(stream, {
    write: { value: (text: string) => stream.write(rewriteCommands(text, env)) },
    on: { value: stream.on?.bind(stream) },
    hasColors: { value: stream.hasColors?.bind(stream) },
  });
}

function arm(faults: string | undefined): void {
  try {
    armFailpoints(faults);
  } catch (error) {
    throw new CommandFailure(ExitCode.usage, (error as Error).message);
  }
}
