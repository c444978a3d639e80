import { disk } from '../../src/platform/files/file-system.ts';
import { TokenFile } from '../../src/source/auth/token-file.ts';
import { tempDir } from '../support/files/temp-dir.ts';
import { tokenStoreContract } from './token-store-contract.ts';

tokenStoreContract(() => {
  const dataDir = tempDir();
  return ({ clientId } = { clientId: 'me' }) =>
    new TokenFile({
      name: 'main',
      account: { baseUrl: 'https://leads.test', clientId, scope: undefined, grant: undefined },
      dataDir,
      key: undefined,
      files: disk,
    });
});
