declare module '@20minutes/s3rver' {
  /** A request on its way through the server, which is a Koa application. */
  export interface S3Context {
    readonly path: string;
    readonly state: { vhost?: boolean };
    mountPath?: string;
  }
  /** An S3-speaking server over a folder. It has the account `S3RVER` with the secret key `S3RVER`. */
  export default class S3rver {
    constructor(options: {
      readonly address: string;
      readonly port: number;
      readonly silent: boolean;
      readonly directory: string;
      readonly vhostBuckets: boolean;
      readonly configureBuckets: readonly { readonly name: string }[];
    });
    readonly middleware: ((context: S3Context, next: () => Promise<unknown>) => Promise<void>)[];
    run(): Promise<{ readonly port: number }>;
    close(): Promise<void>;
  }
}
