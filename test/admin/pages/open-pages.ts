import Fastify from 'fastify';
import { actor } from '../../../src/admin/contract/actor.ts';
import { registerPages } from '../../../src/admin/pages/register.ts';
import type { Role } from '../../../src/platform/options/role.ts';
import { aWorld } from './a-world.ts';
import { FakeOperations, type World } from './fake-operations.ts';

export interface OpenPages {
  readonly url: string;
  readonly operations: FakeOperations;
  close(): Promise<void>;
}

/** Pages over a fake leadsync, on a port of their own. */
export async function openPages(
  more: {
    world?: World;
    refreshMs?: number;
    port?: number;
    rewriteCommands?: (text: string) => string;
    role?: Role;
  } = {},
): Promise<OpenPages> {
  const operations = new FakeOperations(more.world ?? aWorld());
  const app = Fastify({ forceCloseConnections: true });
  const reader = {
    who: 'a reader',
    via: 'loopback',
    role: more.role ?? 'admin',
    address: '127.0.0.1',
  } as const;
  app.addHook('onRequest', (_request, _reply, done) => actor.run(reader, done));
  const pages = registerPages(app, {
    operations,
    onFault: () => {},
    ...(more.rewriteCommands && { rewriteCommands: more.rewriteCommands }),
    ...(more.refreshMs === undefined ? {} : { refreshMs: more.refreshMs }),
  });
  app.get('/login', (_request, reply) => pages.sendLogin(reply, { next: '/' }));
  app.get('/onward', (_request, reply) => {
    const page = { title: 'Logged in', link: 'Continue', to: '/' };
    return pages.sendOnward(reply, page);
  });
  const url = await app.listen({ host: '127.0.0.1', port: more.port ?? 0 });
  return { url, operations, close: () => app.close() };
}
