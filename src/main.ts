import { commandLine } from './cli/command-line.ts';

const { stdout, stderr, stdin, env, argv } = process;

let unwritten = false;
stdout.on('error', sayUnlessUnread);
// There is no other place to say it, and deliveries matter more than lines of the log.
stderr.on('error', () => undefined);
process.on('exit', () => {
  if (unwritten) process.exitCode = 1;
});

process.exitCode = await commandLine(argv.slice(2), { stdout, stderr, stdin, env });
// Into a pipe it goes as fast as somebody reads there (`| less`).
await new Promise((written) => stdout.write('', written));
// By itself the process ends now. A system call that hangs (a network mount, say) must not keep it.
setTimeout(() => process.exit(), 1_000).unref();

/** Whoever read our output may have had enough (`| head`). What is under way is still done, and the exit code is right. */
function sayUnlessUnread({ code }: NodeJS.ErrnoException): void {
  if (unwritten || code === 'EPIPE' || code === 'ERR_STREAM_DESTROYED') return;
  unwritten = true;
  stderr.write(`The output cannot be written (${code}): see whether there is room where it goes.\n`);
}
