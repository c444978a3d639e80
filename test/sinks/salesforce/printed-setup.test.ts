import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type SalesforceStub, startSalesforceStub } from '../../stub/salesforce/salesforce-stub.ts';
import { tempDir } from '../../support/files/temp-dir.ts';
import { openSalesforce } from './open-salesforce.ts';

const NEVER = new AbortController().signal;

/** Runs a script in a folder, with an `sf` that notes its arguments in the file `sf.log`. */
function runScript(script: string, env: Readonly<Record<string, string>>) {
  const folder = tempDir();
  const log = join(folder, 'sf.log');
  writeFileSync(join(folder, 'sf'), `#!/bin/sh\necho "$@" >> ${log}\n`);
  chmodSync(join(folder, 'sf'), 0o755);
  const { status, stderr } = spawnSync('sh', ['-e'], {
    input: script,
    cwd: folder,
    encoding: 'utf8',
    env: { PATH: `${folder}:${process.env['PATH']}`, ...env },
  });
  const calls = existsSync(log) ? readFileSync(log, 'utf8').trimEnd().split('\n') : [];
  return { folder, status, stderr, calls };
}

/** Deploys a project to the stub as Salesforce does, and assigns its permission set. */
async function deploy(stub: SalesforceStub, project: string): Promise<void> {
  const form = {
    grant_type: 'client_credentials',
    client_id: stub.clientId,
    client_secret: stub.clientSecret,
  };
  const login = await fetch(`${stub.url}/services/oauth2/token`, {
    method: 'POST',
    body: new URLSearchParams(form),
  });
  const { access_token: token } = (await login.json()) as { access_token: string };
  const post = async (path: string, body: object) => {
    const answer = await fetch(`${stub.url}/services/data/v67.0/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    expect(answer.status, await answer.clone().text()).toBe(201);
    return ((await answer.json()) as { id: string }).id;
  };
  for (const file of globSync('force-app/objects/Lead/fields/*.field-meta.xml', { cwd: project })) {
    const { fullName, ...metadata } = valuesIn(readFileSync(join(project, file), 'utf8'));
    await post('tooling/sobjects/CustomField', { FullName: `Lead.${fullName}`, Metadata: metadata });
  }
  const set = readFileSync(join(project, 'force-app/permissionsets/leadsync.permissionset-meta.xml'), 'utf8');
  const ParentId = await post('sobjects/PermissionSet', { Name: 'leadsync', Label: 'leadsync' });
  for (const [, permission = ''] of set.matchAll(/<fieldPermissions>(.*?)<\/fieldPermissions>/gs)) {
    const { field, readable, editable } = valuesIn(permission);
    await post('sobjects/FieldPermissions', {
      ParentId,
      SobjectType: 'Lead',
      Field: field,
      PermissionsRead: readable,
      PermissionsEdit: editable,
    });
  }
  await post('sobjects/PermissionSetAssignment', { PermissionSetId: ParentId, AssigneeId: stub.userId });
}

/** Returns the elements of a file that contain a value. */
function valuesIn(xml: string): Record<string, string | number | boolean> {
  const found = [...xml.matchAll(/<(\w+)>([^<\n]*)<\/\1>/g)].map(([, name = '', value = '']) => {
    const isJson = /^(?:true|false|\d+)$/.test(value);
    return [name, isJson ? JSON.parse(value) : value] as const;
  });
  return Object.fromEntries(found);
}

test('an administrator runs what is printed in a shell, and nothing is missing then', async () => {
  const stub = await startSalesforceStub({ keyField: 'absent' });
  const parts = { leadUrl: () => 'https://leadsync.example.com/leads/main/1' };
  const sink = openSalesforce(stub, { fields: { Leadsync_Rooms__c: 'lead.questions.size()' }, parts });
  onTestFinished(async () => {
    await sink.close();
    await stub.close();
  });
  const missing = async () => (await sink.missingParts?.(NEVER)) ?? [];
  const script = (await missing()).map(({ how }) => how).join('');
  expect(script).not.toContain(stub.clientSecret);
  const run = runScript(script, { SALESFORCE_USER: 'leadsync@example.com' });
  expect({ status: run.status, stderr: run.stderr }).toEqual({ status: 0, stderr: '' });
  expect(run.calls).toEqual([
    'project deploy start --source-dir force-app',
    'org assign permset --name leadsync --on-behalf-of leadsync@example.com',
  ]);
  const project = join(run.folder, 'leadsync-salesforce');
  expect(JSON.parse(readFileSync(join(project, 'sfdx-project.json'), 'utf8'))).toEqual({
    packageDirectories: [{ path: 'force-app', default: true }],
    sourceApiVersion: '67.0',
  });
  await deploy(stub, project);
  expect(await missing()).toEqual([]);
  await sink.check(NEVER);
});

test('without the name of the user, the script asks for it and deploys nothing', async () => {
  const stub = await startSalesforceStub({ keyField: 'absent' });
  const sink = openSalesforce(stub);
  onTestFinished(async () => {
    await sink.close();
    await stub.close();
  });
  const script = ((await sink.missingParts?.(NEVER)) ?? []).map(({ how }) => how).join('');
  const { status, stderr, calls } = runScript(script, {});
  expect(calls).toEqual([]);
  expect(status).not.toBe(0);
  expect(stderr).toContain('SALESFORCE_USER: is the name of the user that the app runs as');
});
