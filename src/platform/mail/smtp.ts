import type { Transporter } from 'nodemailer';
import { isLoopback } from '../http/address.ts';

/** The message for text that `isSmtpUrl` does not accept. */
export const WRONG_SMTP_URL =
  'must be a URL such as smtp://user:password@mail.example.com:587, or smtps:// for TLS from the start';

/** Whether the text is the URL of an SMTP server: `smtp://user:password@host:587`, or `smtps://…`. */
export function isSmtpUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && ['smtp:', 'smtps:'].includes(url.protocol) && url.hostname !== '';
}

/**
 * Returns a transport to the server of an SMTP URL. It opens a connection for each mail. Each step up to the server's greeting may take `timeoutMs`.
 * The caller must limit the later steps, because the transport closes a connection only after twice that time without data. With a password, the
 * transport requires STARTTLS unless the server is on this machine.
 */
export async function openTransport(
  { protocol, hostname, port, username, password }: URL,
  timeoutMs: number,
): Promise<Transporter> {
  const { createTransport } = await import('nodemailer'); // loaded here, because most installs send no mail
  const secure = protocol === 'smtps:';
  const host = hostname.replace(/^\[|\]$/g, '');
  const user = decodeURIComponent(username);
  return createTransport({
    host,
    port: Number(port) || (secure ? 465 : 587),
    secure,
    requireTLS: !secure && password !== '' && !isLoopback(host),
    ...(user ? { auth: { user, pass: decodeURIComponent(password) } } : {}),
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: 2 * timeoutMs,
  });
}

/** Options of every mail that a program sends: no automatic replies (RFC 3834, section 5), and no content read from files or URLs. */
export const PROGRAM_MAIL = {
  headers: { 'Auto-Submitted': 'auto-generated' },
  disableFileAccess: true,
  disableUrlAccess: true,
} as const;
