import { expect, test } from 'vitest';
import { judgeError } from '../../../src/sinks/mysql/connection/judge-error.ts';
import { SinkUnavailable } from '../../../src/sinks/sink-unavailable.ts';

const CALLED = { where: 'MySQL at db:3306', database: '`crm`', account: "'leadsync'@'%'" };

/** Returns what an error of the server means: `again`, the reason of a refusal, or message and hint. */
function judged(errno: number, sqlState: string, message = 'value s3cr3t'): string {
  const error = Object.assign(new Error(message), {
    errno,
    sqlState,
    code: 'ER_INNODB_AUTOEXTEND_SIZE_OUT_OF_RANGE',
  });
  const meaning = judgeError(CALLED, error, 'the lead');
  if (meaning === 'again') return 'again';
  if (meaning instanceof SinkUnavailable) return `unavailable: ${meaning.message} ${meaning.hint}`;
  return `refused: ${meaning.reason}`;
}

// The numbers and SQLSTATEs are those of MySQL 8 and of MariaDB, which differ.
test.each([
  [1205, 'HY000', 'again'],
  [1213, '40001', 'again'],
  [1020, 'HY000', 'again'],
  [1412, 'HY000', 'again'],
  [1615, 'HY000', 'again'],
  [3819, 'HY000', 'refused'],
  [4025, '23000', 'refused'],
  [1366, 'HY000', 'refused'],
  [1366, '22007', 'refused'],
  [1406, '22001', 'refused'],
  [1264, '22003', 'refused'],
  [3140, '22032', 'refused'],
  [1048, '23000', 'refused'],
  [1369, '44000', 'refused'],
  [1644, '45000', 'refused'],
  [1118, '42000', 'refused'],
  [1290, 'HY000', 'unavailable'],
  [1114, 'HY000', 'unavailable'],
  [1364, 'HY000', 'unavailable'],
  [1054, '42S22', 'unavailable'],
  [1146, '42S02', 'unavailable'],
  [1040, '08004', 'unavailable'],
  [1105, 'HY000', 'unavailable'],
  [9999, 'HY000', 'unavailable'],
])('error %i with SQLSTATE %s means %s', (errno, sqlState, meaning) => {
  expect(judged(errno, sqlState, 'a name')).toMatch(new RegExp(`^${meaning}`));
});

test('a message that may contain a value is not shown, and one that cannot is', () => {
  expect(judged(1366, '22007')).not.toContain('s3cr3t');
  expect(judged(1062, '23000')).not.toContain('s3cr3t');
  expect(judged(1064, '42000')).not.toContain('s3cr3t');
  expect(judged(3819, 'HY000', "Check constraint 'adults' is violated.")).toContain('adults');
});

test('a missing right has the statement that grants it', () => {
  expect(judged(1142, '42000', 'INSERT command denied')).toContain(
    "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, INDEX ON `crm`.* TO 'leadsync'@'%'",
  );
});

test.each([
  ['PROTOCOL_CONNECTION_LOST', 'closed the connection'],
  ['HANDSHAKE_NO_SSL_SUPPORT', 'offers no TLS'],
  ['ECONNREFUSED', 'refuses the connection'],
])('the failure %s of a connection has a message', (code, words) => {
  const meaning = judgeError(CALLED, Object.assign(new Error('s3cr3t'), { code, errno: -111 }), 'the lead');
  expect(meaning).toBeInstanceOf(SinkUnavailable);
  expect((meaning as SinkUnavailable).message).toContain(words);
  expect((meaning as SinkUnavailable).message).not.toContain('s3cr3t');
});
