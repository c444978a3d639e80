import { commandLine } from './cli/command-line.ts';

const { stdout, stderr, stdin, env, argv } = process;

for (const stream of [stdout, stderr]) stream.on('error', endQuietly);

process.exitCode = await commandLine(argv.slice(2), { stdout, stderr, stdin, env });
// By itself the process ends now. A system call that hangs (a network mount, say) must not keep it.
setTimeout(() => process.exit(), 1_000).unref();

/** Whoever read our output may have had enough (`| head`). What is under way is still done, and the exit code is right. */
function endQuietly(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE' && error.code !== 'ERR_STREAM_DESTROYED') throw error;
}
