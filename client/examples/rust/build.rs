//! Makes the client from the protos while cargo builds. It calls protoc.

fn main() -> std::io::Result<()> {
    let protos = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../proto");
    println!("cargo::rerun-if-changed={protos}");
    tonic_prost_build::configure()
        .build_server(false)
        .compile_protos(&[format!("{protos}/tokendraw/v1/sampling.proto")], &[protos.to_string()])
}
