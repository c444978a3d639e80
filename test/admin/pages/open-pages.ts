import Fastify from 'fastify';
import { registerPages } from '../../../src/admin/pages/register.ts';
import { aWorld } from './a-world.ts';
import { FakeOperations, type World } from './fake-operations.ts';

export interface OpenPages {
  readonly url: string;
  readonly operations: FakeOperations;
  close(): Promise<void>;
}

/** Pages over a fake leadsync, on a port of their own. */
export async function openPages(
  more: { world?: World; refreshMs?: number; port?: number; rewriteCommands?: (text: string) => string } = {},
): Promise<OpenPages> {
  const operations = new FakeOperations(more.world ?? aWorld());
  const app = Fastify({ forceCloseConnections: true });
  const pages = registerPages(app, {
    operations,
    who: () => 'a reader',
    onFault: () => {},
    ...(more.rewriteCommands && { rewriteCommands: more.rewriteCommands }),
    ...(more.refreshMs === undefined ? {} : { refreshMs: more.refreshMs }),
  });
  app.get('/login', (_request, reply) => pages.sendLogin(reply, { next: '/' }));
  const url = await app.listen({ host: '127.0.0.1', port: more.port ?? 0 });
  return { url, operations, close: () => app.close() };
}
