import { onTestFinished } from 'vitest';
import { type Answers, type StorageServer, startStorage } from '../support/servers/storage-server.ts';

/** Returns a storage on this machine, which ends with the test. */
export async function anAnsweringStorage(answers?: Answers): Promise<StorageServer> {
  const storage = await startStorage(answers);
  onTestFinished(() => storage.close());
  return storage;
}
