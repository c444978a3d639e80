import { join } from 'node:path';
import { DocumentFolder } from '../../src/platform/files/document-folder.ts';
import { disk } from '../../src/platform/files/file-system.ts';
import { TokenStore } from '../../src/source/auth/token-store.ts';
import { tempDir } from '../support/files/temp-dir.ts';
import { tokenStoreContract } from './token-store-contract.ts';

tokenStoreContract(() => {
  const folder = join(tempDir(), 'tokens');
  return ({ clientId } = { clientId: 'me' }) =>
    new TokenStore({
      name: 'main',
      account: { baseUrl: 'https://leads.test', clientId, scope: undefined, grant: undefined },
      documents: new DocumentFolder(disk, folder),
      key: undefined,
    });
});
