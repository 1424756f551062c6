//! Makes the client from the protos while cargo builds. It calls protoc.

fn main() -> std::io::Result<()> {
    let here = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let protos = format!("{here}/../../../proto");
    println!("cargo::rerun-if-changed={protos}");
    tonic_prost_build::configure()
        .build_server(false)
        .compile_protos(&[format!("{protos}/tokendraw/v1/sampling.proto")], &[protos.clone()])
}
