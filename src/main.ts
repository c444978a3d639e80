import { runCommandLine } from './cli/run-command-line.ts';

const { stdout, stderr, argv } = process;

let writeFailed = false;
stdout.on('error', reportWriteError);
// A failed write to standard error cannot be reported anywhere, and must not stop deliveries.
stderr.on('error', () => undefined);
process.on('exit', () => {
  if (writeFailed) process.exitCode = 1;
});

process.exitCode = await runCommandLine(argv.slice(2), process);
// Wait until the reader of a pipe (`| less`) has taken the output.
await new Promise((written) => stdout.write('', written));
// The process normally ends by itself now. The timer ends it even if a system call hangs, for example on a network mount.
setTimeout(() => process.exit(), 1_000).unref();

/**
 * Ignores that the reader closed the pipe (`| head`): the command finishes with its usual exit code. Reports only the first of all other
 * errors.
 */
function reportWriteError({ code }: NodeJS.ErrnoException): void {
  if (writeFailed || code === 'EPIPE' || code === 'ERR_STREAM_DESTROYED') return;
  writeFailed = true;
  stderr.write(`The output cannot be written (${code}): check the free space of its destination.\n`);
}
