// A page that is kept for five minutes, or until its tag is stale.
import { unstable_cache } from "next/cache";

export const revalidate = 300;

const price = unstable_cache(async () => process.hrtime.bigint().toString(), ["price"], { tags: ["shelf"], revalidate: 300 });

export default async function Page() {
  return <p id="price">price {await price()}</p>;
}
