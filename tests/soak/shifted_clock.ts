/**
 * A wall clock for some processes, that can be made to jump: a small library that the C compiler makes, loaded into them.
 *
 * @module
 */
const SOURCE = new URL("./clock_shift.c", import.meta.url).pathname;

/** The clock of the processes that were started with {@linkcode env}. */
export class ShiftedClock {
  /** For the environment of those processes. */
  readonly env: Readonly<Record<string, string>>;
  readonly #file: string;
  #seconds = 0;

  private constructor(library: string, file: string) {
    this.#file = file;
    this.env = { LD_PRELOAD: library, SOAK_CLOCK: file };
    this.jump(0);
  }

  /** Makes one in a folder; undefined where there is no C compiler. */
  static async make(folder: string): Promise<ShiftedClock | undefined> {
    const library = `${folder}/clock_shift.so`;
    try {
      const args = ["-shared", "-fPIC", "-O1", "-o", library, SOURCE, "-ldl"];
      const { success, stderr } = await new Deno.Command("cc", { args }).output();
      if (!success) throw new Error(new TextDecoder().decode(stderr));
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return undefined;
      throw error;
    }
    return new ShiftedClock(library, `${folder}/clock_shift`);
  }

  /** Moves the clock forward by this many seconds, in all processes at once. */
  jump(seconds: number): void {
    this.#seconds += seconds;
    using file = Deno.openSync(this.#file, { write: true, create: true });
    file.writeSync(new Uint8Array(new BigInt64Array([BigInt(this.#seconds)]).buffer));
  }
}
