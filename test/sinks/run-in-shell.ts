import { execFile } from 'node:child_process';

/** Runs a script in a shell with these variables. Returns its exit code and what it prints. */
export function runInShell(
  script: string,
  variables: Readonly<Record<string, string>>,
): Promise<{ readonly code: unknown; readonly stdout: string }> {
  const { promise, resolve } = Promise.withResolvers<{ readonly code: unknown; readonly stdout: string }>();
  execFile('sh', ['-c', script], { env: { ...process.env, ...variables } }, (error, stdout) =>
    resolve({ code: error?.code ?? 0, stdout }),
  );
  return promise;
}
