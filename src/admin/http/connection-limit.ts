import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/**
 * Limits a server to `max` open connections. When a further client connects, closes the connection whose last response, or opening if
 * there was none, was the longest ago, so that idle clients cannot lock out probes and readers.
 */
export function limitConnections(server: FastifyInstance['server'], max: number): void {
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket));
    const [oldest] = open;
    if (open.size <= max || oldest === undefined) return;
    open.delete(oldest);
    oldest.destroy();
  });
  server.on('request', ({ socket }, response) => {
    response.on('finish', () => {
      if (open.delete(socket)) open.add(socket);
    });
  });
}
