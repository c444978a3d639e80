import type { BaseAdapter } from '@bull-board/api/baseAdapter';
import type { FastifyInstance } from 'fastify';

/** The queues to be shown now, in read-only mode. */
export type BoardQueues = () => Promise<readonly BaseAdapter[]>;

const PATH = '/queues';

/** Bull Board's own styles stand in its page; everything it loads comes from here. */
const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'self'; frame-ancestors 'none'";

/**
 * Hangs Bull Board in at `/queues`, to be read and not to be changed: the ledger owns retries and pauses, and what was changed in a
 * queue would be offered again. Its packages are loaded now.
 */
export async function addBoard(app: FastifyInstance, queues: BoardQueues): Promise<void> {
  const [{ createBullBoard }, { FastifyAdapter }] = await Promise.all([
    import('@bull-board/api'),
    import('@bull-board/fastify'),
  ]);
  const adapter = new FastifyAdapter();
  const board = createBullBoard({
    queues: [],
    // The two packages bring one declaration each of what is the same.
    serverAdapter: adapter as never,
    options: { uiConfig: { boardTitle: 'leadsync', hideRedisDetails: true } },
  });
  adapter.setBasePath(PATH);
  await app.register(
    async (scope) => {
      scope.addHook('onRequest', async (request, reply) => {
        reply.header('content-security-policy', CSP);
        if (!['GET', 'HEAD'].includes(request.method))
          return reply
            .code(405)
            .header('allow', 'GET, HEAD')
            .type('text/plain')
            .send('This can only be read\n');
        board.replaceQueues(await queues());
      });
      scope.addHook('onSend', async (_request, reply, payload) =>
        String(reply.getHeader('content-type')).startsWith('text/html') && typeof payload === 'string'
          ? payload.replace(OUTSIDE, '')
          : payload,
      );
      await scope.register(adapter.registerPlugin());
    },
    { prefix: PATH },
  );
}

/** The page asks another server for its fonts; without them it takes those of the system. */
const OUTSIDE = /<link href="https:[^>]*>\s*/g;
