import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { BridgeError } from '../../errors.js';
import { readLines, writeLine } from './json-lines.js';
import { parseObject } from './protocol.js';

interface Waiting {
  readonly resolve: (answer: Record<string, unknown>) => void;
  readonly reject: (error: BridgeError) => void;
  readonly timer: NodeJS.Timeout;
}

/** One connection to a keeper; asks may overlap. */
export class KeeperLink {
  readonly #socket: Socket;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;

  private constructor(socket: Socket) {
    this.#socket = socket;
    readLines(socket, (line) => this.#settle(line));
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#fail());
  }

  /** Connects, or throws the system's error. The caller closes the link. */
  static async open(socketPath: string): Promise<KeeperLink> {
    const socket = connect(socketPath);
    await once(socket, 'connect');
    return new KeeperLink(socket);
  }

  get isOpen(): boolean {
    return !this.#socket.destroyed && this.#socket.writable;
  }

  /**
   * Sends one request and returns its answer, undecoded. Throws `KEEPER_UNREACHABLE` if the
   * connection ends first or `timeoutMs` pass; whether the keeper acted is then not known.
   */
  async ask(verb: string, request: object, timeoutMs: number): Promise<Record<string, unknown>> {
    this.#lastId += 1;
    const id = this.#lastId;
    return await new Promise((resolve, reject) => {
      if (!this.isOpen) {
        reject(unreachable('the connection to the keeper has ended'));
        return;
      }
      const timer = setTimeout(() => {
        this.#waiting.delete(id);
        reject(unreachable(`the keeper did not answer ${verb} in ${timeoutMs} ms`));
      }, timeoutMs);
      this.#waiting.set(id, { resolve, reject, timer });
      writeLine(this.#socket, { ...request, id, verb });
    });
  }

  /** Ends the connection; what still waits for an answer fails. Safe twice. */
  close(): void {
    this.#socket.destroy();
  }

  #settle(line: string): void {
    const answer = parseObject(line);
    const id = answer?.id;
    if (answer === undefined || typeof id !== 'number') {
      this.#socket.destroy();
      return;
    }
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    clearTimeout(waiting?.timer);
    waiting?.resolve(answer);
  }

  #fail(): void {
    for (const { reject, timer } of this.#waiting.values()) {
      clearTimeout(timer);
      reject(unreachable('the keeper ended the connection before it answered'));
    }
    this.#waiting.clear();
  }
}

function unreachable(message: string): BridgeError {
  return new BridgeError('KEEPER_UNREACHABLE', message);
}
