import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { type Container, type Deployment, manifestsIn, type Pod, readManifest } from './manifests.ts';
import { loadWithSecrets } from './written-config.ts';

const SECRETS = '/run/secrets/leadsync';
const packaged = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'));

const poller = readManifest<Deployment>('one-process/poller.yaml');
const workers = readManifest<Deployment>('with-workers/workers.yaml');
const pollerBeside = readManifest<Deployment>('with-workers/poller.yaml');
const both: [string, Deployment][] = [
  ['poller', poller],
  ['workers', workers],
];

function podOf({ spec }: Deployment): Pod {
  return spec.template.spec;
}

function containerOf(deployment: Deployment): Container {
  const [container] = podOf(deployment).containers;
  if (!container) throw new Error('a Deployment without a container');
  return container;
}

function configOf(file: string) {
  const { data } = readManifest<{ data: Record<string, string> }>(file);
  return loadWithSecrets(data['leadsync.yaml'] ?? '', SECRETS);
}

/** What https://kubernetes.io/docs/concepts/security/pod-security-standards/ forbids in `restricted` and a pod does or leaves out. */
function violations({ securityContext, containers, volumes, ...pod }: Pod): string[] {
  const allowed = [
    'configMap',
    'downwardAPI',
    'emptyDir',
    'ephemeral',
    'persistentVolumeClaim',
    'projected',
    'secret',
  ];
  const ofPod = [
    ...['hostNetwork', 'hostPID', 'hostIPC'].filter((name) => name in pod),
    securityContext['runAsNonRoot'] !== true && 'runAsNonRoot',
    securityContext['runAsUser'] === 0 && 'runAsUser',
    JSON.stringify(securityContext['seccompProfile']) !== '{"type":"RuntimeDefault"}' && 'seccompProfile',
    ...volumes.flatMap(({ name: _, ...kind }) => Object.keys(kind)).filter((kind) => !allowed.includes(kind)),
  ];
  const ofContainers = containers.flatMap(({ securityContext: own }) => [
    own['allowPrivilegeEscalation'] !== false && 'allowPrivilegeEscalation',
    JSON.stringify(own['capabilities']) !== '{"drop":["ALL"]}' && 'capabilities',
    'privileged' in own && 'privileged',
  ]);
  return [...ofPod, ...ofContainers].filter((violation) => typeof violation === 'string');
}

describe.each(both)('the %s', (_, deployment) => {
  const pod = podOf(deployment);
  const container = containerOf(deployment);

  test('passes PodSecurity restricted, which its namespace enforces, and writes only to its volumes', () => {
    const { metadata } = readManifest<{ metadata: { labels: Record<string, string> } }>(
      'one-process/namespace.yaml',
    );
    expect(metadata.labels['pod-security.kubernetes.io/enforce']).toBe('restricted');
    expect(violations(pod)).toEqual([]);
    expect(container.securityContext['readOnlyRootFilesystem']).toBe(true);
    expect(pod).toMatchObject({ automountServiceAccountToken: false });
  });

  test('runs as the user of the image', () => {
    const dockerfile = readFileSync(join(import.meta.dirname, '../../Dockerfile'), 'utf8');
    const [, user, group] = /^USER (\d+):(\d+)$/m.exec(dockerfile) ?? [];
    expect(pod.securityContext).toMatchObject({ runAsUser: Number(user), fsGroup: Number(group) });
  });

  test('has its liveness probe at /livez and its readiness probe at /readyz, on the port where it listens', () => {
    expect(container.startupProbe.httpGet.path).toBe('/livez');
    expect(container.livenessProbe.httpGet).toEqual({ path: '/livez', port: 'admin' });
    expect(container.readinessProbe.httpGet).toEqual({ path: '/readyz', port: 'admin' });
    const { config } = configOf('with-workers/configuration.yaml');
    expect(config.admin).toEqual({ host: '0.0.0.0', port: container.ports[0]?.containerPort });
  });

  test('gets longer to stop than leadsync takes', () => {
    const { config } = configOf('one-process/configuration.yaml');
    expect(pod.terminationGracePeriodSeconds * 1000).toBeGreaterThan(config.gracePeriodMs);
  });

  test('sees a changed configuration and a changed secret: whole folders are mounted', () => {
    const mounts = new Map(container.volumeMounts.map((mount) => [mount.mountPath, mount]));
    expect([...mounts.keys()].sort()).toEqual(['/data', '/etc/leadsync', SECRETS, '/tmp']);
    expect(container.volumeMounts.filter(({ subPath }) => subPath !== undefined)).toEqual([]);
    expect(pod.volumes.map(({ name }) => name).sort()).toEqual(
      container.volumeMounts.map(({ name }) => name).sort(),
    );
  });

  test('selects only its own pods', () => {
    expect(deployment.spec.template.metadata.labels).toEqual(deployment.spec.selector.matchLabels);
    expect(poller.spec.selector.matchLabels).not.toEqual(workers.spec.selector.matchLabels);
  });

  test('ends the old pod before it starts a new one', () => {
    expect(deployment.spec.strategy).toEqual({ type: 'Recreate' });
  });
});

test('there is one poller', () => {
  expect(poller.spec.replicas).toBe(1);
  expect(containerOf(poller).args).toEqual(['run']);
});

test('workers share the volume, the user and the node of the poller, which leaves the deliveries to them', () => {
  expect(podOf(workers).volumes).toEqual(podOf(poller).volumes);
  expect(podOf(workers).securityContext).toEqual(podOf(poller).securityContext);
  // One term for both, that either fulfils itself: otherwise the first pod would wait for another.
  expect(podOf(workers).affinity).toEqual(podOf(pollerBeside).affinity);
  expect(podOf(workers).affinity).toMatchObject({
    podAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [
        {
          topologyKey: 'kubernetes.io/hostname',
          labelSelector: { matchLabels: { 'app.kubernetes.io/name': 'leadsync' } },
        },
      ],
    },
  });
  expect(containerOf(pollerBeside).args).toEqual(['run', '--no-deliver']);
  expect(containerOf(workers).args).toEqual(['worker', '--listen', '0.0.0.0:9464']);
});

test('several pods replace one another without a gap, and keep no volume; a session stays with its pod', () => {
  const several = readManifest<Deployment>('several/poller.yaml');
  expect(several.metadata.name).toBe(poller.metadata.name);
  expect(several.spec.replicas).toBeGreaterThan(1);
  expect(several.spec.strategy).toEqual({
    type: 'RollingUpdate',
    rollingUpdate: { maxSurge: 1, maxUnavailable: 0 },
  });
  const [data, ...others] = several.spec.template.spec.volumes;
  expect(others).toEqual([]);
  expect(data).toMatchObject({ name: 'data', persistentVolumeClaim: null, emptyDir: {} });
  expect(podOf(poller).volumes.map(({ name }) => name)).toContain('data');
  const claim = readManifest<{ metadata: { name: string } }>('one-process/volume.yaml');
  const patch = readManifest('several/volume.yaml');
  expect(patch).toMatchObject({ $patch: 'delete', metadata: { name: claim.metadata.name } });
  expect(readManifest('several/service.yaml')).toMatchObject({ spec: { sessionAffinity: 'ClientIP' } });
});

test('the configuration of several pods is valid, has its ledger in PostgreSQL, and its secrets exist', () => {
  const { config, secretFiles } = configOf('several/configuration.yaml');
  const secret = readManifest<{ stringData: object }>('several/secret.example.yaml');
  expect(config).toMatchObject({ dataDir: '/data', watch: true, ledgerServer: expect.anything() });
  expect(Object.keys(secret.stringData).sort()).toEqual(secretFiles.toSorted());
});

test.each(['one-process', 'with-workers'])(
  'the configuration of %s is valid and its secrets exist',
  (folder) => {
    const { config, secretFiles } = configOf(`${folder}/configuration.yaml`);
    const secret = readManifest<{ stringData: object }>('one-process/secret.example.yaml');
    expect(config).toMatchObject({ dataDir: '/data', watch: true });
    expect(config.queue.redis !== undefined).toBe(folder === 'with-workers');
    expect(Object.keys(secret.stringData).sort()).toEqual(secretFiles.toSorted());
  },
);

test('a policy allows the monitoring in, and the destinations of the configuration out', () => {
  type Rule = { from?: unknown; to?: unknown; ports: { protocol: string; port: number }[] };
  const { spec } = readManifest<{ spec: { ingress: Rule[]; egress: Rule[]; policyTypes: string[] } }>(
    'one-process/network.yaml',
  );
  expect(spec.policyTypes).toEqual(['Ingress', 'Egress']);
  expect(spec.ingress).toEqual([
    {
      from: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }],
      ports: [{ protocol: 'TCP', port: 9464 }],
    },
  ]);
  const out = spec.egress.flatMap(({ ports }) => ports.map(({ protocol, port }) => `${protocol} ${port}`));
  expect(out).toEqual(['UDP 53', 'TCP 53', 'TCP 443', 'TCP 465', 'TCP 587', 'TCP 5432', 'TCP 6379']);
  expect(spec.egress.filter(({ to }) => to === undefined)).toEqual([]);
});

test.each(['one-process', 'with-workers', 'several'])(
  '%s names every manifest of its folder, and this version',
  (folder) => {
    type Kustomization = {
      resources: string[];
      patches?: { path: string }[];
      images: { name: string; newTag: string }[];
    };
    const { resources, patches = [], images } = readManifest<Kustomization>(`${folder}/kustomization.yaml`);
    const named = [...resources, ...patches.map(({ path }) => path)].filter((file) => file.endsWith('.yaml'));
    const files = manifestsIn(folder).filter((file) => !file.endsWith('.example.yaml'));
    expect(named.map((file) => `${folder}/${file}`).sort()).toEqual(files.sort());
    expect(images).toEqual([{ name: 'leadsync', newTag: packaged.version }]);
  },
);

test('the Service routes to the pages of the poller, even if it is not ready', () => {
  const { spec } = readManifest<{
    spec: { selector: object; publishNotReadyAddresses: boolean; ports: { targetPort: string }[] };
  }>('one-process/service.yaml');
  expect(poller.spec.template.metadata.labels).toMatchObject(spec.selector);
  expect(workers.spec.template.metadata.labels).not.toMatchObject(spec.selector);
  expect(spec.ports.map(({ targetPort }) => targetPort)).toEqual(
    containerOf(poller).ports.map(({ name }) => name),
  );
  expect(spec.publishNotReadyAddresses).toBe(true);
});

describe('for the Prometheus Operator', () => {
  const { groups } = parse(
    readFileSync(join(import.meta.dirname, '../../config/monitoring/alerts.yaml'), 'utf8'),
  );

  test('a monitor scrapes the poller and the workers with the token, as the job that the rules name', () => {
    const { spec } = readManifest<{
      spec: {
        jobLabel: string;
        selector: { matchLabels: object };
        podMetricsEndpoints: {
          port: string;
          authorization: { credentials: { name: string; key: string } };
        }[];
      };
    }>('prometheus-operator/pod-monitor.yaml');
    const secret = readManifest<{ metadata: { name: string }; stringData: object }>(
      'one-process/secret.example.yaml',
    );
    const down = groups[0].rules.find(({ alert }: { alert: string }) => alert === 'LeadsyncDown');
    for (const deployment of [poller, workers]) {
      const { labels } = deployment.spec.template.metadata;
      expect(labels).toMatchObject(spec.selector.matchLabels);
      expect(down.expr).toContain(`job="${labels[spec.jobLabel]}"`);
      expect(containerOf(deployment).ports.map(({ name }) => name)).toEqual(
        spec.podMetricsEndpoints.map(({ port }) => port),
      );
    }
    const [{ credentials }] = spec.podMetricsEndpoints.map(({ authorization }) => authorization) as [
      { credentials: { name: string; key: string } },
    ];
    expect(credentials.name).toBe(secret.metadata.name);
    expect(Object.keys(secret.stringData)).toContain(credentials.key);
  });

  test('the rules are those of config/monitoring', () => {
    const rules = readManifest<{ kind: string; spec: object }>('prometheus-operator/rules.yaml');
    expect(rules).toMatchObject({ kind: 'PrometheusRule', spec: { groups } });
    expect(groups[0].rules.length).toBeGreaterThan(10);
  });

  test('the folder names each of its manifests', () => {
    const { resources } = readManifest<{ resources: string[] }>('prometheus-operator/kustomization.yaml');
    expect(resources.map((file) => `prometheus-operator/${file}`).sort()).toEqual(
      manifestsIn('prometheus-operator').sort(),
    );
  });
});
