import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

const kubernetesFolder = join(import.meta.dirname, '../../deploy/kubernetes');

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly args: readonly string[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly startupProbe: Probe;
  readonly livenessProbe: Probe;
  readonly readinessProbe: Probe;
  readonly securityContext: Readonly<Record<string, unknown>>;
  readonly volumeMounts: readonly {
    readonly name: string;
    readonly mountPath: string;
    readonly subPath?: string;
  }[];
}

export interface Pod {
  readonly securityContext: Readonly<Record<string, unknown>>;
  readonly terminationGracePeriodSeconds: number;
  readonly affinity?: unknown;
  readonly containers: readonly Container[];
  readonly volumes: readonly Readonly<Record<string, unknown>>[];
}

export interface Deployment {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly replicas: number;
    readonly strategy: { readonly type: string };
    readonly selector: { readonly matchLabels: Readonly<Record<string, string>> };
    readonly template: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> };
      readonly spec: Pod;
    };
  };
}

/** One manifest as it is in its file, such as `one-process/poller.yaml`. */
export function readManifest<Manifest = Readonly<Record<string, unknown>>>(file: string): Manifest {
  return parse(readFileSync(join(kubernetesFolder, file), 'utf8'));
}

/** The manifests in a folder, the kustomization left out. */
export function manifestsIn(folder: string): string[] {
  const files = readdirSync(join(kubernetesFolder, folder));
  return files.filter((file) => file !== 'kustomization.yaml').map((file) => `${folder}/${file}`);
}
