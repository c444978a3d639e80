import { withinDeadline } from '../time/deadline.ts';

/**
 * Connects to the server of an address, with TLS for `https:`, and disconnects. Sends no request.
 * @throws DeadlinePassed after `timeoutMs`, the reason of `stop`, or the connection error
 */
export async function tryConnection(
  { hostname, protocol, port }: URL,
  timeoutMs: number,
  stop: AbortSignal,
): Promise<void> {
  const { buildConnector } = await import('undici');
  const connect = buildConnector({ timeout: timeoutMs, allowH2: false });
  // A function, so that the promise is created only when the work begins: if `stop` has aborted before, its rejection would be
  // unhandled.
  const connected = () =>
    new Promise<void>((resolve, reject) => {
      connect({ hostname: hostname.replace(/^\[|\]$/g, ''), protocol, port }, (error, socket) => {
        socket?.destroy();
        if (error) reject(error);
        else resolve();
      });
    });
  await withinDeadline(timeoutMs, stop, connected);
}
