import type { ServerResponse } from 'node:http';
import { sendText } from '../manner.ts';
import type { Answer } from './answer.ts';
import { JSON_TYPE, type NoAnswer } from './faults.ts';

/** Sends an answer, or none: closes the connection, or leaves the client waiting. */
export function sendAnswer(res: ServerResponse, answer: Answer | NoAnswer): void {
  if (answer === 'silent') return;
  if (answer === 'cut') return void res.socket?.destroy();
  const { status, headers, body } = answer;
  if (body === undefined) return void res.writeHead(status, { ...headers }).end();
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  sendText(res, status, text, { ...JSON_TYPE, ...headers });
}
