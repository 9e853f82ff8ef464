import { PEOPLE } from "../product";
import { Orders } from "./orders";

/** The page has the settings of the server that shows it, and none of the build. */
export const dynamic = "force-dynamic";

export default function Page() {
  return <Orders service={process.env.SERVICE_URL ?? ""} people={PEOPLE.map(({ id, name }) => ({ id, name }))} />;
}
