import type { BaseAdapter } from '@bull-board/api/baseAdapter';
import type { FastifyInstance } from 'fastify';

/** Returns the queues that Bull Board shows now, in read-only mode. */
export type BoardQueues = () => Promise<readonly BaseAdapter[]>;

const PATH = '/queues';

/** Allows the inline styles and `data:` images of Bull Board's page. Everything else must come from this server. */
const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'self'; frame-ancestors 'none'";

/**
 * Adds Bull Board at `/queues`. It is read-only, because the ledger owns retries and pauses: if an operator removed a batch from a queue,
 * leadsync would put it there again. Loads the Bull Board packages only here, because most installations do not use it.
 */
export async function addBoard(app: FastifyInstance, queues: BoardQueues): Promise<void> {
  const [{ createBullBoard }, { FastifyAdapter }] = await Promise.all([
    import('@bull-board/api'),
    import('@bull-board/fastify'),
  ]);
  const adapter = new FastifyAdapter();
  const board = createBullBoard({
    queues: [],
    // The two packages declare the same type separately.
    serverAdapter: adapter as never,
    options: { uiConfig: { boardTitle: 'leadsync', hideRedisDetails: true } },
  });
  adapter.setBasePath(PATH);
  await app.register(
    async (scope) => {
      scope.addHook('onRoute', (route) => {
        route.config = { ...route.config, operation: 'queues' };
      });
      scope.addHook('onRequest', async (request, reply) => {
        reply.header('content-security-policy', CSP);
        if (!['GET', 'HEAD'].includes(request.method))
          return reply
            .code(405)
            .header('allow', 'GET, HEAD')
            .type('text/plain')
            .send('This page is read-only.\n');
        board.replaceQueues(await queues());
      });
      scope.addHook('onSend', async (_request, reply, payload) =>
        String(reply.getHeader('content-type')).startsWith('text/html') && typeof payload === 'string'
          ? payload.replace(FONT_LINK, '')
          : payload,
      );
      await scope.register(adapter.registerPlugin());
    },
    { prefix: PATH },
  );
}

/** Matches the page's link to a font server. Without the link, the page uses the system's fonts. */
const FONT_LINK = /<link href="https:[^>]*>\s*/g;
