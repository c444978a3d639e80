import { spawnSync } from 'node:child_process';

/** Returns a Python that has the package jsonschema: that of the system comes last, because another may stand before it on the PATH. */
export function findSchemaWitness(): string | undefined {
  return ['python3', '/usr/bin/python3'].find(
    (python) => spawnSync(python, ['-c', 'import jsonschema'], { stdio: 'ignore' }).status === 0,
  );
}

/** Validates each RECORD against the last SCHEMA of its stream, as Singer targets in Python do. Prints a line per fault. */
const PROGRAM = `
import json, sys, jsonschema
validators = {}
for line in sys.stdin:
    message = json.loads(line)
    if message['type'] == 'SCHEMA':
        jsonschema.Draft7Validator.check_schema(message['schema'])
        validators[message['stream']] = (jsonschema.Draft7Validator(message['schema']), message['key_properties'])
    if message['type'] == 'RECORD':
        validator, key = validators[message['stream']]
        for name in key:
            if message['record'].get(name) is None: print('no', name)
        for name in message['record']:
            if name not in validator.schema['properties']: print('unknown', name)
        for error in validator.iter_errors(message['record']): print(error.message)
        print('ok', message['stream'])
`;

/** Returns what the witness says of the messages of a Singer tap: `ok` and the stream for each record, and the faults. */
export function validateRecords(messages: string): string[] {
  const python = findSchemaWitness();
  if (python === undefined)
    throw new Error('The tests need python3-jsonschema: run `npm test`, which installs it.');
  const { status, stdout, stderr } = spawnSync(python, ['-c', PROGRAM], {
    input: messages,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr);
  return stdout.split('\n').slice(0, -1);
}
