// How orval makes the client, which reads the address of the service when it runs.

export default {
    images: {
        input: "../../../openapi.json",
        output: {
            target: "generated.ts",
            client: "fetch",
            baseUrl: { runtime: "process.env.IMAGEKILN_BASE_URL" },
        },
    },
};
