/** Where warnings and errors go. `console` and pino's child loggers with a small wrapper fit. */
export interface Logger {
  warn(message: string, fields: Readonly<Record<string, unknown>>): void;
  error(message: string, fields: Readonly<Record<string, unknown>>): void;
}

/** A logger that throws must not end the work that it tells of. */
export function safeLogger(logger: Logger): Logger {
  const safely = (log: Logger["warn"]): Logger["warn"] => {
    return (message, fields) => {
      try {
        const logged: unknown = log(message, fields);
        if (logged instanceof Promise) logged.catch(() => {});
      } catch {
        // There is nobody left to tell.
      }
    };
  };
  return { warn: safely(logger.warn.bind(logger)), error: safely(logger.error.bind(logger)) };
}

export const consoleLogger: Logger = {
  warn: (message, fields) => console.warn(`hapax ${message}`, fields),
  error: (message, fields) => console.error(`hapax ${message}`, fields),
};
