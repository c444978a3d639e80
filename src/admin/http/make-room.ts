import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/**
 * Keeps at most so many connections open. One more ends the one whose last answer, or whose beginning, is longest ago: whoever
 * holds connections open and asks nothing keeps no probe and no reader out.
 */
export function makeRoom(server: FastifyInstance['server'], most: number): void {
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket));
    const [oldest] = open;
    if (open.size <= most || oldest === undefined) return;
    open.delete(oldest);
    oldest.destroy();
  });
  server.on('request', ({ socket }, response) => {
    response.on('finish', () => {
      if (open.delete(socket)) open.add(socket);
    });
  });
}
