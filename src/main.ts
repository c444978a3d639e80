import { CommanderError } from 'commander';
import { ExitCode } from './cli/exit-code.ts';
import { explainFailure } from './cli/failure.ts';
import { program } from './cli/program.ts';

const { stdout, stderr, stdin, env } = process;

try {
  const leadsync = program({ stdout, stderr, stdin, env }, (code) => {
    process.exitCode = code;
  });
  await leadsync.parseAsync();
} catch (error) {
  process.exitCode = report(error);
}

function report(error: unknown): number {
  // Commander has printed what was wrong with the words; its own exit code for that is 1.
  if (error instanceof CommanderError) return error.exitCode === 0 ? ExitCode.done : ExitCode.usage;
  const failure = explainFailure(error);
  if (failure) {
    stderr.write(`${failure.message}\n`);
    return failure.exitCode;
  }
  // Its message may quote a lead; where it happened does not.
  const { name, stack } = error as Error;
  const places = (stack ?? '').split('\n').filter((line) => /^ {4}at /.test(line));
  stderr.write(
    `leadsync failed in a way that nobody foresaw (${name}). Please report it with these lines:\n${places.join('\n')}\n`,
  );
  return ExitCode.notDone;
}
