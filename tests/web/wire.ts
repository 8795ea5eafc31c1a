/**
 * HTTP as bytes on a connection, for requests that no HTTP client would send.
 *
 * @module
 */
import { once } from "node:events";
import { connect, type Socket } from "node:net";

/** A connection that sends and receives bytes. */
export class Wire implements AsyncDisposable {
  text = "";
  /** Resolves when the connection has ended. */
  readonly ended: Promise<unknown>;
  readonly #socket: Socket;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setEncoding("latin1").on("data", (text: string) => void (this.text += text));
    socket.on("error", () => {});
    this.ended = new Promise((resolve) => socket.once("close", resolve));
  }

  /** Connects to the loopback. */
  static async open(port: number): Promise<Wire> {
    const socket = connect(port, "127.0.0.1");
    await once(socket, "connect");
    return new Wire(socket);
  }

  /** Opens a connection and requests a page. */
  static async get(port: number, path: string, headers = ""): Promise<Wire> {
    const wire = await Wire.open(port);
    wire.send(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`);
    return wire;
  }

  /** The status of the first response; undefined before it. */
  get status(): number | undefined {
    const digits = /^HTTP\/1\.1 (\d{3})/.exec(this.text)?.[1];
    return digits === undefined ? undefined : Number(digits);
  }

  /** Whether the server has closed the connection. */
  get isOver(): boolean {
    return this.#socket.destroyed || this.#socket.readableEnded;
  }

  /** Reads nothing until {@link resume}. */
  pause(): void {
    this.#socket.pause();
  }

  /** Reads again. */
  resume(): void {
    this.#socket.resume();
  }

  /** Sends the text unchanged; returns false if the server has closed the connection. */
  send(text: string): boolean {
    return this.#socket.writable && this.#socket.write(text, "latin1");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.destroy();
    await this.ended;
  }
}

/** Sends a request unchanged; returns all bytes received until the server closed the connection. */
export async function ask(port: number, text: string): Promise<string> {
  await using wire = await Wire.open(port);
  wire.send(text);
  await wire.ended;
  return wire.text;
}
