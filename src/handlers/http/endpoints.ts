/**
 * Performs jobs by HTTP requests. The configuration maps classes to URLs: a client that can push jobs must not be able to choose
 * what a worker calls. docs/guides/http-handlers.md describes requests and answers.
 *
 * This module is small. The rest is loaded with the first job of an endpoint.
 *
 * @module
 */
import type { Clock } from "../../clock.ts";
import { DEFAULT_ENDPOINT_TIMEOUT, type Endpoint, type OpenCircuit, shownUrl } from "../../job/endpoint.ts";
import type { Log } from "../../log/log.ts";
import type { JobContext } from "../context.ts";
import { ModeError, type OutsideClass } from "../execution_modes.ts";
import type { Caller } from "./caller.ts";

export interface EndpointsOptions {
  readonly endpoints: readonly Endpoint[];
  readonly clock: Clock;
  readonly log: Log;
  /** Of a longer answer, only the beginning and the end are kept. */
  readonly maxResultBytes: number;
  /** How many jobs the worker runs at once, until it is resized. */
  readonly concurrency: number;
  /** Whether the worker has other classes, too. */
  readonly hasOthers: boolean;
  /** How endpoints report about their jobs. Absent: they can't. */
  readonly reports?: ReportOptions;
}

export interface ReportOptions {
  /** The address for reports. */
  readonly url: string;
  /** This worker. */
  readonly worker: string;
  /** Returns the key that signs the tokens. */
  readonly key: () => Promise<string>;
}

/** An endpoint with the certificates of its file. */
export interface OpenEndpoint extends Endpoint {
  readonly ca: string | undefined;
}

export class Endpoints {
  readonly #options: EndpointsOptions;
  readonly #endpoints: readonly OpenEndpoint[];
  #concurrency: number;
  #caller: Caller | undefined;

  /** @throws {ModeError} if a file of certificates can't be read */
  constructor(options: EndpointsOptions) {
    this.#options = options;
    this.#concurrency = options.concurrency;
    this.#endpoints = options.endpoints.map((endpoint) => ({ ...endpoint, ca: certificatesOf(endpoint) }));
  }

  /** The classes of the endpoints. */
  get classes(): OutsideClass[] {
    return this.#endpoints.map((endpoint) => ({
      class: endpoint.class,
      perform: (job) => this.#perform(endpoint, job),
      options: { timeout: DEFAULT_ENDPOINT_TIMEOUT, ...endpoint.options },
      source: `http ${shownUrl(endpoint.url, endpoint.format)}`,
      isInternal: endpoint.format !== undefined,
    }));
  }

  /** Sets how many jobs the worker runs at once. The limits of hosts follow. */
  resize(concurrency: number): void {
    this.#concurrency = concurrency;
    this.#caller?.resize();
  }

  /** The circuits that aren't closed. */
  get openCircuits(): readonly OpenCircuit[] {
    return this.#caller?.openCircuits ?? [];
  }

  async #perform(endpoint: OpenEndpoint, job: JobContext): Promise<unknown> {
    const { Caller } = await import("./caller.ts");
    this.#caller ??= new Caller({ ...this.#options, limitOf: (host) => this.#limitOf(host) });
    return await this.#caller.perform(endpoint, job);
  }

  /** Returns how many requests are sent to a host at once: as configured; else half of the jobs, if other jobs run here, too. */
  #limitOf(host: string): number {
    const { hasOthers } = this.#options;
    const here = this.#endpoints.filter(({ url }) => new URL(url).host === host);
    const configured = here.map((endpoint) => endpoint.concurrency).filter((limit) => limit !== undefined);
    if (configured.length > 0) return Math.max(...configured);
    return hasOthers || here.length < this.#endpoints.length ? Math.ceil(this.#concurrency / 2) : this.#concurrency;
  }
}

function certificatesOf({ class: name, caFile }: Endpoint): string | undefined {
  if (caFile === undefined) return undefined;
  try {
    const text = Deno.readTextFileSync(caFile);
    if (text.includes("-----BEGIN CERTIFICATE-----")) return text;
  } catch (error) {
    throw new ModeError(`"caFile" of endpoint "${name}" can't be read: ${(error as Error).message}`);
  }
  throw new ModeError(`"caFile" of endpoint "${name}" has no certificate: "${caFile}"; expected a file in PEM format`);
}
